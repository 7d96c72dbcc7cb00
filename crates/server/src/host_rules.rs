//! The tests of a request before anything else: the host to which it is sent, and the page from which it comes.
//!
//! A browser sends requests for every page that it shows. A page of another site must not use a server only because the
//! server is on the user's machine or network. Nor may it reach the server under a name of that site which it lets
//! resolve to the server's address. Without `access.hosts` a browser therefore reaches a server only by an address or
//! as localhost, since no other machine answers for these.

use crate::config::{Access, Config};
use crate::error::ServerError;
use crate::peer::{Peers, known};
use crate::proxies::Proxies;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;
use tonic::Status;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

/// The configured origin that stands for every origin.
const EVERY: &str = "*";

/// Puts a configuration's rules before all routes of a server. `pages` are the paths of the server's pages.
///
/// Errors: `Setting`.
pub(crate) fn guarded(
    router: Router,
    config: &Config,
    pages: Vec<&'static str>,
) -> Result<Router, ServerError> {
    let rules = HostRules::new(config, pages);
    let mut guarded = router.layer(axum::middleware::from_fn_with_state(rules, check_request));
    if let Some(cors) = cors(&config.access)? {
        guarded = guarded.layer(cors);
    }
    let peers = Peers::new(Proxies::new(&config.access.proxies)?);
    Ok(guarded.layer(axum::middleware::from_fn_with_state(peers, known)))
}

/// The rules for requests that a server answers.
#[derive(Clone, Debug)]
struct HostRules(Arc<Rules>);

#[derive(Debug)]
struct Rules {
    /// The names of the server.
    hosts: Vec<String>,
    /// Whether the server listens at a loopback address only.
    local: bool,
    /// The origins of pages that may call.
    origins: Vec<String>,
    /// The paths of the server's pages. A path that ends with `/` includes everything below it.
    pages: Vec<&'static str>,
}

impl HostRules {
    /// Returns the rules of a configuration, for a server with these pages.
    fn new(config: &Config, pages: Vec<&'static str>) -> Self {
        let lower = |names: &[String]| names.iter().map(|name| name.to_lowercase()).collect();
        Self(Arc::new(Rules {
            hosts: lower(&config.access.hosts),
            local: config.listen.ip().is_loopback(),
            origins: lower(&config.access.origins),
            pages,
        }))
    }
}

impl Rules {
    /// Checks the host and the origin of a request.
    ///
    /// Errors: a description of the fault.
    fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), String> {
        let authority = authority(headers, uri);
        let origin = headers
            .get(ORIGIN)
            .map(|origin| origin.to_str().unwrap_or_default().to_lowercase());
        if let Some(origin) = &origin
            && self.may_call(origin, authority.as_deref())
        {
            return self.check_host(authority.as_deref(), false);
        }
        // Every call of a browser has an origin. Only requests for pages may come without.
        let from_browser = origin.is_some() || !is_grpc(headers);
        self.check_host(authority.as_deref(), from_browser)?;
        match origin {
            None => Ok(()),
            Some(origin) => Err(format!(
                "expected no page of another origin, found one of {origin}: the operator lists those that may call in \
                 access.origins"
            )),
        }
    }

    /// Checks the host of a request.
    ///
    /// Errors: a description of a host that does not belong to the server.
    fn check_host(&self, authority: Option<&str>, from_browser: bool) -> Result<(), String> {
        match authority {
            Some(authority) if !self.is_own(host_of(authority), from_browser) => Err(format!(
                "expected a request for {}, found one for {authority}: the operator lists further names in access.hosts",
                self.names()
            )),
            _ => Ok(()),
        }
    }

    /// Returns whether pages of an origin may call the server under this authority.
    fn may_call(&self, origin: &str, authority: Option<&str>) -> bool {
        let listed = |known: &String| known == EVERY || known == origin;
        if self.origins.iter().any(listed) {
            return true;
        }
        let own = origin.split_once("://").map(|(_, rest)| rest);
        own == authority && authority.is_some_and(|authority| self.is_own(host_of(authority), true))
    }

    /// Returns whether a host is a name of the server. Where the operator lists no names, a program may use any, since
    /// no page of another site is behind it.
    fn is_own(&self, host: &str, from_browser: bool) -> bool {
        if is_local(host) || self.hosts.iter().any(|name| name == host) {
            return true;
        }
        let any = !self.local && self.hosts.is_empty();
        any && (!from_browser || is_address(host))
    }

    fn is_page(&self, path: &str) -> bool {
        let below = |page: &str| page.len() > 1 && page.ends_with('/') && path.starts_with(page);
        self.pages.iter().any(|page| *page == path || below(page))
    }

    fn expected(&self) -> String {
        if self.pages.is_empty() {
            "expected a call by gRPC, as this server has no pages".to_owned()
        } else {
            let pages = self.pages.join(", ");
            format!("expected a call by gRPC or one of the pages {pages}")
        }
    }

    fn names(&self) -> String {
        let mut names: Vec<&str> = self.hosts.iter().map(String::as_str).collect();
        names.push("localhost");
        if !self.local && self.hosts.is_empty() {
            names.push("an address");
        }
        names.join(" or ")
    }
}

/// Returns the host and port of a request in lower case, or `None` if there is none.
fn authority(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let named = headers.get(HOST).and_then(|host| host.to_str().ok());
    let authority = uri.authority().map(|authority| authority.as_str());
    authority.or(named).map(str::to_lowercase)
}

/// Returns the host of an authority, without its port.
fn host_of(authority: &str) -> &str {
    let end = match authority.rfind(']') {
        Some(bracket) => bracket + 1,
        None => authority.rfind(':').unwrap_or(authority.len()),
    };
    &authority[..end]
}

/// Returns the address in a host, if the host is not a name.
fn address(host: &str) -> Option<IpAddr> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok()
}

fn is_address(host: &str) -> bool {
    address(host).is_some()
}

fn is_local(host: &str) -> bool {
    host == "localhost" || address(host).is_some_and(|address| address.is_loopback())
}

/// Returns a refusal, as a response to a call or to a request for a page.
pub(crate) fn refused(headers: &HeaderMap, code: StatusCode, text: String) -> Response {
    if !is_grpc(headers) {
        return (code, text + "\n").into_response();
    }
    match code {
        StatusCode::FORBIDDEN => Status::permission_denied(text).into_http(),
        _ => Status::invalid_argument(text).into_http(),
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"application/grpc"))
}

/// Refuses a request for another host, one from a page of another origin, and one that is neither a call nor for a
/// page.
async fn check_request(State(rules): State<HostRules>, request: Request, next: Next) -> Response {
    let rules = &rules.0;
    let (headers, uri) = (request.headers(), request.uri());
    let grpc = is_grpc(headers);
    if let Err(text) = rules.check(headers, uri) {
        return refused(headers, StatusCode::FORBIDDEN, text);
    }
    if !grpc && request.method() != Method::OPTIONS && !rules.is_page(uri.path()) {
        let text = format!("{}; found {}\n", rules.expected(), uri.path());
        return (StatusCode::NOT_FOUND, text).into_response();
    }
    next.run(request).await
}

/// Returns the layer that lets pages of the configured origins call, or `None` if there are no origins.
///
/// Errors: `Setting`.
fn cors(access: &Access) -> Result<Option<CorsLayer>, ServerError> {
    if access.origins.is_empty() {
        return Ok(None);
    }
    let every = access.origins.iter().any(|origin| origin == EVERY);
    let origins: Vec<HeaderValue> = access
        .origins
        .iter()
        .map(|origin| HeaderValue::from_str(origin).map_err(|_| not_an_origin(origin)))
        .collect::<Result<_, _>>()?;
    let origin = if every {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins)
    };
    let exposed = [
        "grpc-status",
        "grpc-message",
        "retry-after-ms",
        "post-refusal-bin",
    ];
    let layer = CorsLayer::new()
        .allow_origin(origin)
        .allow_methods([Method::GET, Method::POST])
        // Headers are mirrored one by one, since `*` would not include `authorization`.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(exposed.map(HeaderName::from_static));
    Ok(Some(layer))
}

/// Checks that the configured origins are origins.
///
/// Errors: `Setting`.
pub(crate) fn check_origins(access: &Access) -> Result<(), ServerError> {
    let is_origin = |origin: &&String| {
        let scheme = ["http://", "https://"]
            .iter()
            .find_map(|scheme| origin.strip_prefix(scheme));
        *origin == EVERY || scheme.is_some_and(|host| !host.is_empty() && !host.contains('/'))
    };
    match access.origins.iter().find(|origin| !is_origin(origin)) {
        Some(origin) => Err(not_an_origin(origin)),
        None => Ok(()),
    }
}

fn not_an_origin(found: &str) -> ServerError {
    ServerError::setting(
        "access.origins",
        "origins such as https://app.example, without a path, or *",
        format!("{found:?}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(listen: &str, hosts: &[&str], origins: &[&str]) -> HostRules {
        let mut config = Config {
            listen: listen.parse().unwrap(),
            ..Config::default()
        };
        let all = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        (config.access.hosts, config.access.origins) = (all(hosts), all(origins));
        HostRules::new(&config, vec!["/"])
    }

    /// Returns whether a page is shown under a host, or a call from a page of an origin is answered.
    fn is_taken(front: &HostRules, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        if origin.is_some() {
            headers.insert(CONTENT_TYPE, "application/grpc-web+proto".parse().unwrap());
        }
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        front.0.check(&headers, &Uri::from_static("/")).is_ok()
    }

    #[test]
    fn at_loopback_only_names_of_this_machine_are_taken() {
        let front = rules("127.0.0.1:7600", &[], &[]);
        for host in [
            "localhost",
            "LOCALHOST:7600",
            "127.0.0.1:7600",
            "127.9.9.9",
            "[::1]:7600",
        ] {
            assert!(is_taken(&front, host, None), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:7600",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "",
        ] {
            assert!(!is_taken(&front, host, None), "{host}");
        }
        // In HTTP/2 the host is in the URI, which takes precedence.
        let uri = Uri::from_static("http://evil.example/");
        assert!(front.0.check(&HeaderMap::new(), &uri).is_err());
    }

    #[test]
    fn elsewhere_browsers_come_by_an_address_unless_names_are_listed() {
        let open = rules("0.0.0.0:7600", &[], &[]);
        for host in [
            "192.0.2.1:7600",
            "[2001:db8::1]:7600",
            "localhost:7600",
            "127.0.0.1",
        ] {
            assert!(is_taken(&open, host, None), "{host}");
            assert!(
                is_taken(&open, host, Some(&format!("http://{host}"))),
                "{host}"
            );
        }
        // These names of another site resolve to the server's address.
        for host in ["rebound.example:7600", "192.0.2.1.rebound.example", "board"] {
            assert!(!is_taken(&open, host, None), "{host}");
            assert!(
                !is_taken(&open, host, Some(&format!("http://{host}"))),
                "{host}"
            );
        }
        // No page of another site is behind a program.
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, "application/grpc".parse().unwrap());
        headers.insert(HOST, "board.example".parse().unwrap());
        open.0.check(&headers, &Uri::from_static("/")).unwrap();
        let app = rules("0.0.0.0:7600", &[], &["https://app.example"]);
        assert!(is_taken(&app, "board.example", Some("https://app.example")));
        assert!(!is_taken(
            &app,
            "board.example",
            Some("https://board.example")
        ));
        let listed = rules("0.0.0.0:7600", &["Board.example"], &[]);
        assert!(is_taken(
            &listed,
            "board.example:443",
            Some("https://board.example:443")
        ));
        assert!(is_taken(&listed, "board.example:443", None));
        assert!(is_taken(&listed, "localhost:7600", None), "health checks");
        assert!(!is_taken(&listed, "evil.example", None));
    }

    #[test]
    fn pages_call_their_own_server_and_those_that_list_them() {
        let front = rules("127.0.0.1:7600", &[], &["https://app.example"]);
        let from = |origin| is_taken(&front, "127.0.0.1:7600", Some(origin));
        assert!(from("http://127.0.0.1:7600") && from("https://app.example"));
        for origin in [
            "https://evil.example",
            "https://app.example.evil.example",
            "http://app.example",
            "http://127.0.0.1:8080",
            "null",
        ] {
            assert!(!from(origin), "{origin}");
        }
        let every = rules("127.0.0.1:7600", &[], &["*"]);
        assert!(is_taken(&every, "localhost", Some("https://evil.example")));
    }

    #[test]
    fn pages_are_named_one_by_one_or_by_their_folder() {
        let front = HostRules::new(&Config::default(), vec!["/", "/mail", "/mail/"]);
        for path in ["/", "/mail", "/mail/", "/mail/sw.js"] {
            assert!(front.0.is_page(path), "{path}");
        }
        for path in ["/other", "/mailbox", "/status.json", "//"] {
            assert!(!front.0.is_page(path), "{path}");
        }
    }

    #[test]
    fn texts_that_are_not_origins_are_refused() {
        for origin in [
            "app.example",
            "https://",
            "https://app.example/",
            "ftp://app.example",
        ] {
            let access = Access {
                origins: vec![origin.into()],
                ..Access::default()
            };
            let error = check_origins(&access).unwrap_err().to_string();
            assert!(error.contains("access.origins"), "{error}");
        }
    }
}
