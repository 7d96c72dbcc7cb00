//! Calls over the network, which wait for their answers without the interpreter's lock.

use crate::fault::Fault;
use crate::running::Watch;
use omr_detector::Progress;
use omr_remote::{Client, Endpoint, UNREACHED};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The interval at which a waiting call checks whether to stop.
const TICK: Duration = Duration::from_millis(50);

/// The runtime of the calls.
#[derive(Clone)]
pub(crate) struct Network(Arc<Runtime>);

impl Network {
    /// Starts a runtime.
    ///
    /// Errors: those of the system.
    pub(crate) fn new() -> io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build()?;
        Ok(Self(Arc::new(runtime)))
    }

    /// Returns a connection, which is made with the first call; a call gives up early if the server does not answer.
    ///
    /// Errors: `Remote`.
    pub(crate) fn connect(&self, endpoint: Endpoint) -> Result<Client, omr_remote::RemoteError> {
        let _inside = self.0.enter();
        let unreached = Some(UNREACHED);
        Client::connect(&Endpoint {
            unreached,
            ..endpoint
        })
    }

    /// Waits for a call, until the caller stops it.
    ///
    /// Errors: those of the call; `Stopped`.
    pub(crate) fn wait<T, E: Into<Fault>>(
        &self,
        watch: &Watch,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Fault> {
        self.until(|| watch.is_stopped(), call)
            .unwrap_or(Err(Fault::Stopped))
    }

    /// Returns the result of a call; `None` if `is_over` returns true first.
    pub(crate) fn until<T, E: Into<Fault>>(
        &self,
        is_over: impl Fn() -> bool,
        call: impl Future<Output = Result<T, E>>,
    ) -> Option<Result<T, Fault>> {
        let mut done = None;
        self.finish(
            &is_over,
            pin!(async { done = Some(call.await.map_err(Into::into)) }),
        );
        done
    }

    /// Runs a call until it is done or `is_over` returns true. It is compiled once for all types of calls.
    fn finish(&self, is_over: &dyn Fn() -> bool, call: Pin<&mut dyn Future<Output = ()>>) {
        let over = async {
            while !is_over() {
                tokio::time::sleep(TICK).await;
            }
        };
        self.0.block_on(async {
            tokio::select! {
                () = call => {}
                () = over => {}
            }
        });
    }
}
