//! The trace context of calls: that of the span in which the program makes them, in the headers that its propagator for
//! OpenTelemetry writes. A program that has set none sends none.

use opentelemetry::global;
use opentelemetry::propagation::Injector;
use tonic::metadata::{Ascii, MetadataKey, MetadataMap, MetadataValue};

struct Headers<'a>(&'a mut MetadataMap);

impl Injector for Headers<'_> {
    fn set(&mut self, key: &str, value: String) {
        let name: Result<MetadataKey<Ascii>, _> = key.parse();
        let text: Result<MetadataValue<Ascii>, _> = value.parse();
        if let (Ok(name), Ok(text)) = (name, text) {
            self.0.insert(name, text);
        }
    }
}

/// Adds the present trace context to a call, if there is one.
pub(crate) fn inject(metadata: &mut MetadataMap) {
    global::get_text_map_propagator(|propagator| propagator.inject(&mut Headers(metadata)));
}

#[cfg(test)]
mod tests {
    use crate::Endpoint;
    use opentelemetry::Context;
    use opentelemetry::global;
    use opentelemetry::propagation::text_map_propagator::FieldIter;
    use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
    use tonic::Request;
    use tonic::service::Interceptor;

    /// Writes a header into each call.
    #[derive(Debug)]
    struct Always;

    impl TextMapPropagator for Always {
        fn inject_context(&self, _: &Context, injector: &mut dyn Injector) {
            injector.set("traceparent", "here".to_owned());
        }

        fn extract_with_context(&self, context: &Context, _: &dyn Extractor) -> Context {
            context.clone()
        }

        fn fields(&self) -> FieldIter<'_> {
            FieldIter::new(&[])
        }
    }

    #[test]
    fn calls_are_traced_where_the_program_asks_for_it_and_no_proxy_hides_them() {
        let is_traced = |endpoint: &Endpoint| {
            let call = endpoint.bearer().unwrap().call(Request::new(())).unwrap();
            call.metadata().contains_key("traceparent")
        };
        let plain = Endpoint::new("http://127.0.0.1:1");
        let hidden = Endpoint {
            proxy: Some("socks5h://127.0.0.1:9050".parse().unwrap()),
            ..plain.clone()
        };
        assert!(!is_traced(&plain));
        global::set_text_map_propagator(Always);
        assert!(is_traced(&plain));
        assert!(!is_traced(&hidden));
    }
}
