//! Calls over the network, which wait for their answers until the caller stops them.

use crate::BindingError;
use omr_remote::{Client, Endpoint, Proxy, RemoteError, Timeouts, UNREACHED, UNREACHED_BY_PROXY};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The interval at which a waiting call checks whether to stop.
const TICK: Duration = Duration::from_millis(50);

/// The caller of long work, who receives its progress and can stop it.
pub trait Watch {
    /// Receives the progress of a stage: its name, the number of completed steps, and the number of all steps.
    fn at(&self, stage: &str, done: u64, total: u64);

    /// Returns whether the work must end.
    fn is_stopped(&self) -> bool;
}

/// The runtime of the calls, and the proxy through which all of them go, if there is one.
#[derive(Clone)]
pub struct Network {
    runtime: Arc<Runtime>,
    proxy: Option<Proxy>,
}

impl Network {
    /// Starts a runtime.
    ///
    /// Errors: `Remote` if the text names no proxy; `Io`.
    pub fn new(proxy: Option<&str>) -> Result<Self, BindingError> {
        let proxy = proxy.map(str::parse).transpose()?;
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build()?;
        Ok(Self {
            runtime: Arc::new(runtime),
            proxy,
        })
    }

    /// Returns a connection, which is made with the first call; a call gives up early if the server does not answer.
    ///
    /// Errors: `Remote`.
    pub fn connect(&self, endpoint: Endpoint) -> Result<Client, RemoteError> {
        let _inside = self.runtime.enter();
        let unreached = match self.proxy {
            Some(_) => UNREACHED_BY_PROXY,
            None => UNREACHED,
        };
        Client::connect(&Endpoint {
            proxy: self.proxy.clone(),
            timeouts: Timeouts {
                connect: unreached,
                ..Timeouts::default()
            },
            unreached: Some(unreached),
            ..endpoint
        })
    }

    /// Waits for a call, until the caller stops it.
    ///
    /// Errors: those of the call; `Stopped`.
    pub fn wait<T, E: Into<BindingError>>(
        &self,
        watch: &impl Watch,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, BindingError> {
        match self.until(|| watch.is_stopped(), call) {
            Some(answer) => answer.map_err(Into::into),
            None => Err(BindingError::Stopped),
        }
    }

    /// Returns the result of a call; `None` if `is_over` returns true first.
    pub fn until<T>(&self, is_over: impl Fn() -> bool, call: impl Future<Output = T>) -> Option<T> {
        let mut done = None;
        self.finish(&is_over, pin!(async { done = Some(call.await) }));
        done
    }

    /// Runs a call until it is done or `is_over` returns true. It is compiled once for all types of calls.
    fn finish(&self, is_over: &dyn Fn() -> bool, call: Pin<&mut dyn Future<Output = ()>>) {
        let over = async {
            while !is_over() {
                tokio::time::sleep(TICK).await;
            }
        };
        self.runtime.block_on(async {
            tokio::select! {
                () = call => {}
                () = over => {}
            }
        });
    }
}
