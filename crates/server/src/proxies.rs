//! Reverse proxies that the operator trusts to name their clients.

use crate::error::ServerError;
use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};

/// The header in which a proxy names its clients, the nearest one last.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The addresses of trusted proxies. The header of a request from any other address is ignored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxies(Vec<IpNet>);

/// The reason for which a request of a trusted proxy names no client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unnamed {
    /// There is no header: the proxy is not set up to write it, or calls for itself.
    Missing,
    /// The header contains this text in place of an address.
    Malformed(String),
}

impl Proxies {
    /// Reads addresses and networks, such as `127.0.0.1` and `10.0.0.0/8`.
    ///
    /// Errors: `Setting`.
    pub(crate) fn new(texts: &[String]) -> Result<Self, ServerError> {
        let read = |text: &String| {
            let address = text.parse::<IpAddr>().map(IpNet::from);
            address.or_else(|_| text.parse()).map_err(|_| {
                let expected = "addresses or networks such as 127.0.0.1 and 10.0.0.0/8";
                ServerError::setting("access.proxies", expected, format!("{text:?}"))
            })
        };
        Ok(Self(texts.iter().map(read).collect::<Result<_, _>>()?))
    }

    /// Returns whether an address is that of a trusted proxy.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        let canonical = address.to_canonical();
        self.0.iter().any(|network| network.contains(&canonical))
    }

    /// Returns the client of a request that came from `peer`: the last address in the header that is not a trusted
    /// proxy. If `peer` is not a trusted proxy, it is the client itself, whatever the header contains.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Result<IpAddr, Unnamed> {
        if !self.has(peer) {
            return Ok(peer);
        }
        let mut named = None;
        for value in headers.get_all(FORWARDED_FOR).iter().rev() {
            let text = value.to_str().map_err(|_| malformed("no text"))?;
            for entry in text.rsplit(',') {
                let address = address(entry.trim()).ok_or_else(|| malformed(entry.trim()))?;
                named = Some(address);
                if !self.has(address) {
                    return Ok(of_machine(address, peer));
                }
            }
        }
        named
            .map(|address| of_machine(address, peer))
            .ok_or(Unnamed::Missing)
    }
}

/// Returns the client with a named address. A loopback address belongs to the machine that wrote it, so it makes no
/// other client a client of this machine.
fn of_machine(named: IpAddr, peer: IpAddr) -> IpAddr {
    if named.is_loopback() { peer } else { named }
}

/// Parses the address of a client. Some proxies write its port as well.
fn address(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text
        .parse()
        .map(|socket: SocketAddr| socket.ip())
        .or_else(|_| text.parse())
        .ok()?
        .to_canonical();
    let usable = !address.is_unspecified() && !address.is_multicast();
    usable.then_some(address)
}

fn malformed(text: &str) -> Unnamed {
    const MOST: usize = 60;
    Unnamed::Malformed(text.chars().take(MOST).collect())
}

impl std::fmt::Display for Unnamed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => write!(
                f,
                "expected x-forwarded-for from a proxy of access.proxies, found no such header: its clients count as one"
            ),
            Self::Malformed(found) => write!(
                f,
                "expected addresses in x-forwarded-for from a proxy of access.proxies, found {found:?}: mend the proxy's \
                 configuration"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies() -> Proxies {
        Proxies::new(&[
            "127.0.0.1".into(),
            "10.0.0.0/8".into(),
            "2001:db8::/64".into(),
        ])
        .unwrap()
    }

    fn client(peer: &str, lines: &[&str]) -> Result<String, Unnamed> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        let found = proxies().client(peer.parse().unwrap(), &headers);
        found.map(|address| address.to_string())
    }

    #[test]
    fn only_a_trusted_proxy_names_a_client() {
        for peer in ["192.0.2.7", "2001:db8:1::1", "127.0.0.2", "11.0.0.1"] {
            for line in ["198.51.100.9", "10.0.0.1", "rubbish", ""] {
                assert_eq!(client(peer, &[line]), Ok(peer.into()), "{line}");
            }
        }
        let none = Proxies::default();
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED_FOR, "198.51.100.9".parse().unwrap());
        let local = "127.0.0.1".parse().unwrap();
        assert_eq!(none.client(local, &headers), Ok(local));
    }

    #[test]
    fn a_client_is_the_last_address_that_is_no_proxy() {
        let named = Ok("198.51.100.9".to_owned());
        for lines in [
            &["198.51.100.9"][..],
            &["203.0.113.1, 198.51.100.9"],
            &["203.0.113.1", "198.51.100.9"],
            &["forged, 198.51.100.9,10.1.2.3"],
            &["198.51.100.9:1234"],
            &["::ffff:198.51.100.9"],
        ] {
            assert_eq!(client("10.0.0.2", lines), named, "{lines:?}");
            assert_eq!(client("::ffff:10.0.0.2", lines), named, "{lines:?}");
        }
        assert_eq!(
            client("2001:db8::5", &["2001:db8:9::1"]),
            Ok("2001:db8:9::1".into())
        );
        // All addresses are proxies, so the first of them calls for itself.
        assert_eq!(
            client("10.0.0.2", &["10.0.0.9, 10.0.0.3"]),
            Ok("10.0.0.9".into())
        );
        // No header makes anybody a client of this machine.
        assert_eq!(client("10.0.0.2", &["127.0.0.5"]), Ok("10.0.0.2".into()));
    }

    #[test]
    fn malformed_addresses_are_named() {
        for found in [
            "",
            "unknown",
            "_hidden",
            "0.0.0.0",
            "198.51.100.9 x",
            "224.0.0.1",
        ] {
            let error = client("127.0.0.1", &[&format!("198.51.100.9, {found}")]).unwrap_err();
            assert_eq!(error, Unnamed::Malformed(found.into()));
            assert!(error.to_string().contains(&format!("found {found:?}")));
        }
        assert_eq!(client("127.0.0.1", &[]), Err(Unnamed::Missing));
        let error = Proxies::new(&["10.0.0.0/33".into()])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("access.proxies") && error.contains("10.0.0.0/33"),
            "{error}"
        );
    }
}
