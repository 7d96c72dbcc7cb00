//! The callers of requests: owners of tokens, and clients without one.

use crate::config::Config;
use crate::refuse;
use crate::strangers::{ANONYMOUS, of_one_stranger};
use crate::tokens::{Right, Token, Tokens};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tonic::{Request, Status};

/// A client and its limits.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The account whose keys, jobs and sessions the client sees.
    pub(crate) account: String,
    /// The number of the client by which limits are shared: of an account, or of an address without a token.
    pub(crate) client: u64,
    /// Whether the client has no token and is on this machine, whose programs cannot be distinguished.
    pub(crate) is_local: bool,
    pub(crate) rights: [bool; Right::ALL.len()],
    pub(crate) messages_per_second: u32,
    pub(crate) jobs: u32,
    pub(crate) sessions: u32,
    pub(crate) keys: u32,
    pub(crate) addresses: u32,
}

impl Caller {
    #[cfg(test)]
    pub(crate) fn test(account: &str, client: u64) -> Self {
        Self {
            account: account.into(),
            client,
            is_local: false,
            rights: [true; Right::ALL.len()],
            messages_per_second: 1,
            jobs: 1,
            sessions: 1,
            keys: 1,
            addresses: 1,
        }
    }

    /// Returns whether the client has no token.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.account == ANONYMOUS
    }

    pub(crate) fn may(&self, right: Right) -> bool {
        self.rights[right as usize]
    }
}

/// Returns the part of an address that identifies a client. The owner of an IPv6 address has all 2^64 addresses of its
/// network.
pub(crate) fn network(address: IpAddr) -> Vec<u8> {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets()[..8].to_vec(),
    }
}

/// The time for which an address counts as that of a client with a token.
const KNOWN: Duration = Duration::from_secs(24 * 3600);

/// The callers and their use of limits.
pub(crate) struct Callers {
    config: Arc<Config>,
    tokens: Tokens,
    /// The key of the hash that identifies addresses, which lasts as long as the process.
    salt: [u8; 32],
    rates: Mutex<HashMap<u32, Arc<DefaultKeyedRateLimiter<u64>>>>,
    /// The clients, by address, that showed a token of this server, and the last time.
    known: Mutex<HashMap<u64, Instant>>,
}

impl Callers {
    pub(crate) fn new(config: Arc<Config>, tokens: Tokens, salt: [u8; 32]) -> Self {
        Self {
            config,
            tokens,
            salt,
            rates: Mutex::default(),
            known: Mutex::default(),
        }
    }

    /// Returns the client at an address. With IPv6 all addresses of a network are one client.
    pub(crate) fn client_at(&self, address: IpAddr) -> u64 {
        self.key(&network(address))
    }

    /// Returns whether a token was shown from a client's address within a day.
    pub(crate) fn was_known(&self, client: u64) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&client).is_some_and(|at| at.elapsed() < KNOWN)
    }

    /// Returns the caller of a request.
    ///
    /// Errors: UNAUTHENTICATED for an unknown token.
    pub(crate) fn of<T>(&self, request: &Request<T>) -> Result<Caller, Status> {
        let Some(header) = request.metadata().get("authorization") else {
            return Ok(self.anonymous(request));
        };
        let text = header.to_str().unwrap_or_default();
        let token = text
            .strip_prefix("Bearer ")
            .and_then(|token| self.tokens.find(token.trim()));
        match token {
            Some(token) => {
                if let Some(address) = request.remote_addr() {
                    let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                    known.insert(self.client_at(address.ip()), Instant::now());
                }
                Ok(self.of_token(&token))
            }
            None => Err(Status::unauthenticated(
                "expected a token of this server as `authorization: Bearer TOKEN`, found another",
            )),
        }
    }

    /// Returns the caller of a request after a check of a right.
    ///
    /// Errors: those of [`Callers::of`]; PERMISSION_DENIED.
    pub(crate) fn with_right<T>(
        &self,
        request: &Request<T>,
        right: Right,
    ) -> Result<Caller, Status> {
        let caller = self.of(request)?;
        if caller.may(right) {
            Ok(caller)
        } else if caller.is_anonymous() {
            Err(Status::unauthenticated(format!(
                "expected a token with the right {right}, found none"
            )))
        } else {
            Err(Status::permission_denied(format!(
                "expected a token with the right {right}, found one without"
            )))
        }
    }

    fn of_token(&self, token: &Token) -> Caller {
        let limits = &self.config.limits;
        let has = |right| token.rights.contains(&right);
        Caller {
            account: token.name.clone(),
            client: self.key(token.name.as_bytes()),
            is_local: false,
            rights: Right::ALL.map(has),
            messages_per_second: token
                .messages_per_second
                .unwrap_or(limits.messages_per_second),
            jobs: token.jobs.unwrap_or(limits.jobs),
            sessions: token.sessions.unwrap_or(limits.sessions),
            keys: token.keys.unwrap_or(limits.keys),
            addresses: limits.addresses,
        }
    }

    fn anonymous<T>(&self, request: &Request<T>) -> Caller {
        let limits = &self.config.limits;
        let [post, detect] = self.config.anonymous();
        let address = request.remote_addr().map(|address| address.ip());
        let is_local = address.is_none_or(|address| address.to_canonical().is_loopback());
        let most = |each, all: u32| {
            if is_local {
                of_one_stranger(all as usize) as u32
            } else {
                each
            }
        };
        Caller {
            account: ANONYMOUS.into(),
            client: self.key(&address.map(network).unwrap_or_default()),
            is_local,
            rights: [post, detect, false, false, false],
            messages_per_second: limits.messages_per_second,
            jobs: most(limits.jobs, limits.all_jobs),
            sessions: most(limits.sessions, limits.all_sessions),
            keys: most(limits.keys, limits.all_keys),
            addresses: most(limits.addresses, limits.all_addresses),
        }
    }

    fn key(&self, name: &[u8]) -> u64 {
        let hash = blake3::keyed_hash(&self.salt, name);
        u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("32 bytes"))
    }

    /// Counts messages against a caller's rate.
    ///
    /// Errors: RESOURCE_EXHAUSTED, with the time after which to try again.
    pub(crate) fn take(&self, caller: &Caller, messages: u32) -> Result<(), Status> {
        let Some(count) = NonZeroU32::new(messages) else {
            return Ok(());
        };
        let rate = caller.messages_per_second;
        let limiter = self.limiter(rate);
        let after = match limiter.check_key_n(&caller.client, count) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(until)) => {
                use governor::clock::{Clock, DefaultClock};
                until.wait_time_from(DefaultClock::default().now())
            }
            Err(_) => Duration::from_secs(60),
        };
        let what =
            format!("expected at most {rate} messages a second, found more: try again later");
        Err(refuse::busy(what, after))
    }

    fn limiter(&self, rate: u32) -> Arc<DefaultKeyedRateLimiter<u64>> {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let post = self.config.limits.post_messages;
        let make = || {
            let each = NonZeroU32::new(rate).unwrap_or(NonZeroU32::MIN);
            // A whole post must fit.
            let burst = NonZeroU32::new(rate.max(post)).unwrap_or(NonZeroU32::MIN);
            Arc::new(RateLimiter::keyed(
                Quota::per_second(each).allow_burst(burst),
            ))
        };
        rates.entry(rate).or_insert_with(make).clone()
    }

    /// Forgets clients that have not posted lately, and addresses from which no token was shown lately.
    pub(crate) fn tidy(&self) {
        let rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        rates.values().for_each(|limiter| limiter.retain_recent());
        drop(rates);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, at| at.elapsed() < KNOWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::transport::server::TcpConnectInfo;

    fn from(callers: &Callers, address: &str) -> Caller {
        let mut request = Request::new(());
        request.extensions_mut().insert(TcpConnectInfo {
            local_addr: None,
            remote_addr: Some(format!("{address}:9").parse().unwrap()),
        });
        callers.of(&request).unwrap()
    }

    #[test]
    fn an_address_is_a_client_and_a_network_of_ipv6_is_one_too() {
        let config = Arc::new(Config::default());
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path().join("tokens.toml")).unwrap();
        let callers = Callers::new(config.clone(), tokens, [7; 32]);
        let client = |address| from(&callers, address).client;
        assert_eq!(
            client("[2001:db8:1:2::1]"),
            client("[2001:db8:1:2:ffff::9]")
        );
        assert_ne!(client("[2001:db8:1:2::1]"), client("[2001:db8:1:3::1]"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
        assert_eq!(client("192.0.2.1"), client("[::ffff:192.0.2.1]"));
        let far = from(&callers, "192.0.2.1");
        let limits = &config.limits;
        assert_eq!(
            (far.jobs, far.sessions, far.keys),
            (limits.jobs, limits.sessions, limits.keys)
        );
        for near in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"] {
            let near = from(&callers, near);
            assert_eq!((near.is_local, near.jobs), (true, 375));
        }
    }

    #[test]
    fn a_network_has_one_rate() {
        let config = Config {
            limits: crate::config::Limits {
                messages_per_second: 5,
                post_messages: 10,
                ..Default::default()
            },
            ..Config::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path().join("tokens.toml")).unwrap();
        let callers = Callers::new(Arc::new(config), tokens, [7; 32]);
        callers.take(&from(&callers, "[2001:db8::1]"), 10).unwrap();
        let again = callers
            .take(&from(&callers, "[2001:db8::2]"), 10)
            .unwrap_err();
        assert_eq!(again.code(), tonic::Code::ResourceExhausted);
        callers
            .take(&from(&callers, "[2001:db8:0:1::1]"), 10)
            .unwrap();
    }
}
