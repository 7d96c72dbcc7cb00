//! Connections through a SOCKS5 proxy, such as Tor's.

use crate::{RemoteError, random_id};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::SocksV5;
use std::fmt;
use std::str::FromStr;
use tonic::transport::Uri;

/// A SOCKS5 proxy (RFC 1928), which resolves the names of servers itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// `http://host:port` of the proxy.
    address: Uri,
    names: Names,
}

/// How a client names itself to a proxy (RFC 1929).
#[derive(Clone, PartialEq, Eq)]
enum Names {
    /// By a random name and password for each client: Tor then uses a circuit for each.
    Random,
    /// Not at all, for proxies that know no names.
    None,
    /// By these.
    Given { user: String, password: String },
}

impl FromStr for Proxy {
    type Err = RemoteError;

    fn from_str(text: &str) -> Result<Self, RemoteError> {
        let bad = || RemoteError::Proxy(visible(text));
        let place = text.strip_prefix("socks5h://").ok_or_else(bad)?;
        let (names, address) = match place.rsplit_once('@') {
            None => (Names::Random, place),
            Some(("", address)) => (Names::None, address),
            Some((named, address)) => {
                let (user, password) = named.split_once(':').unwrap_or((named, ""));
                let given = Names::Given {
                    user: user.to_owned(),
                    password: password.to_owned(),
                };
                (given, address)
            }
        };
        let uri: Uri = format!("http://{address}").parse().map_err(|_| bad())?;
        let is_bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
        if uri.port_u16().is_none() || !is_bare {
            return Err(bad());
        }
        Ok(Self {
            address: uri,
            names,
        })
    }
}

/// Returns the text without a password.
fn visible(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, address)) => format!("..@{address}"),
        None => text.to_owned(),
    }
}

/// Without the name and the password.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.address)
    }
}

impl Proxy {
    /// Returns a connector for one client. Another client gets another random name.
    pub(crate) fn connector(&self) -> SocksV5<HttpConnector> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        let plain = SocksV5::new(self.address.clone(), tcp);
        let text = || format!("{:032x}", u128::from_le_bytes(random_id()));
        match &self.names {
            Names::Random => plain.with_auth(text(), text()),
            Names::None => plain,
            Names::Given { user, password } => plain.with_auth(user.clone(), password.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_proxies_are_read_or_refused() {
        let names = |text: &str| text.parse::<Proxy>().unwrap().names;
        assert!(names("socks5h://127.0.0.1:9050") == Names::Random);
        assert!(names("socks5h://@[::1]:1080") == Names::None);
        let given = Names::Given {
            user: "me".into(),
            password: "a:b@c".into(),
        };
        assert!(names("socks5h://me:a:b@c@proxy.example:1080") == given);
        for text in [
            "",
            "127.0.0.1:9050",
            "socks5://127.0.0.1:9050",
            "http://127.0.0.1:9050",
            "socks5h://127.0.0.1",
            "socks5h://",
            "socks5h://host:port",
            "socks5h://host:1/path",
            "socks5h://host:1?query",
        ] {
            let error = text.parse::<Proxy>().unwrap_err();
            assert!(matches!(error, RemoteError::Proxy(_)), "{text}");
        }
        let error = "socks5h://me:secret@host".parse::<Proxy>().unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        let proxy: Proxy = "socks5h://me:secret@host:1".parse().unwrap();
        assert_eq!(format!("{proxy:?}"), "Proxy(http://host:1/)");
    }
}
