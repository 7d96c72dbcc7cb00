//! TLS, with a certificate that is read again when its files change.

use crate::config::Tls;
use crate::connections::Connection;
use crate::error::ServerError;
use futures::{Stream, StreamExt};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;
use zeroize::Zeroizing;

/// The time between two looks at the files.
const LOOK: Duration = Duration::from_secs(5);
/// The protocol that clients are offered, HTTP/2.
const ALPN: &[u8] = b"h2";

/// The certificate in use, and its files.
#[derive(Debug)]
pub(crate) struct Certificate {
    tls: Tls,
    provider: Arc<CryptoProvider>,
    used: RwLock<Arc<CertifiedKey>>,
    seen: Mutex<Seen>,
}

/// Hashes of the files.
#[derive(Debug)]
struct Seen {
    /// The files at the last look.
    last: blake3::Hash,
    /// The files that were read as a certificate and a key.
    tried: blake3::Hash,
}

/// The contents of both files.
struct Files {
    certificate: Vec<u8>,
    key: Zeroizing<Vec<u8>>,
}

impl Files {
    /// Reads the files of a configuration.
    ///
    /// Errors: `Read`.
    fn read(tls: &Tls) -> Result<Self, ServerError> {
        let read = |path: &Path| std::fs::read(path).map_err(ServerError::read(path));
        Ok(Self {
            certificate: read(&tls.certificate)?,
            key: Zeroizing::new(read(&tls.key)?),
        })
    }

    fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.certificate.len() as u64).to_le_bytes());
        hasher.update(&self.certificate).update(&self.key);
        hasher.finalize()
    }

    /// Returns the certificate with its key.
    ///
    /// Errors: `Certificate`.
    fn certified(&self, tls: &Tls, provider: &CryptoProvider) -> Result<CertifiedKey, ServerError> {
        let fault = |path: &Path, reason: String| ServerError::Certificate(path.to_owned(), reason);
        let chain = chain(&tls.certificate, &self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| fault(&tls.key, format!("expected a private key in PEM: {error}")))?;
        CertifiedKey::from_der(chain, key, provider).map_err(|error| {
            let reason = format!(
                "expected a certificate of the key {}: {error}",
                tls.key.display()
            );
            fault(&tls.certificate, reason)
        })
    }
}

/// Returns the certificates of a file in PEM, which are one or more.
///
/// Errors: `Certificate`.
fn chain(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ServerError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let reason = match found {
        Ok(chain) if !chain.is_empty() => return Ok(chain),
        Ok(_) => "expected a certificate in PEM, found none".to_owned(),
        Err(error) => format!("expected a certificate in PEM: {error}"),
    };
    Err(ServerError::Certificate(path.to_owned(), reason))
}

impl Certificate {
    /// Reads the certificate of a configuration.
    ///
    /// Errors: `Read`, `Certificate`.
    fn open(tls: &Tls) -> Result<Self, ServerError> {
        let provider = Arc::new(ring::default_provider());
        let files = Files::read(tls)?;
        let certified = files.certified(tls, &provider)?;
        let (last, tried) = (files.hash(), files.hash());
        Ok(Self {
            tls: tls.clone(),
            provider,
            used: RwLock::new(Arc::new(certified)),
            seen: Mutex::new(Seen { last, tried }),
        })
    }

    /// Takes the files into use if they are others than before, and the same as at the last look: until then, one of
    /// them may be unwritten. Files that are no certificate with its key are reported once, and leave the old ones in
    /// use.
    fn look(&self) {
        let files = Files::read(&self.tls);
        let found = match &files {
            Ok(files) => files.hash(),
            Err(error) => blake3::hash(error.to_string().as_bytes()),
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let rests = std::mem::replace(&mut seen.last, found) == found;
        if !rests || seen.tried == found {
            return;
        }
        seen.tried = found;
        match files.and_then(|files| files.certified(&self.tls, &self.provider)) {
            Ok(certified) => {
                let mut used = self.used.write().unwrap_or_else(PoisonError::into_inner);
                *used = Arc::new(certified);
                tracing::info!("a new TLS certificate is in use");
            }
            Err(error) => tracing::error!(%error, "the old TLS certificate stays in use"),
        }
    }

    /// Looks at the files from time to time.
    pub(crate) async fn watch(self: Arc<Self>) {
        let mut looks = tokio::time::interval(LOOK);
        loop {
            looks.tick().await;
            let certificate = self.clone();
            let looked = tokio::task::spawn_blocking(move || certificate.look()).await;
            if let Err(error) = looked {
                tracing::error!(%error, "a look at the TLS certificate died; please report it");
            }
        }
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let used = self.used.read().unwrap_or_else(PoisonError::into_inner);
        Some(used.clone())
    }
}

/// TLS of a server.
pub(crate) struct Secured {
    pub(crate) certificate: Arc<Certificate>,
    acceptor: TlsAcceptor,
}

impl Secured {
    /// Reads the certificate of a configuration.
    ///
    /// Errors: `Read`, `Certificate`.
    pub(crate) fn open(tls: &Tls) -> Result<Self, ServerError> {
        let certificate = Arc::new(Certificate::open(tls)?);
        let versions = ServerConfig::builder_with_provider(certificate.provider.clone())
            .with_safe_default_protocol_versions();
        let fault = |error: rustls::Error| {
            ServerError::Certificate(tls.certificate.clone(), error.to_string())
        };
        let mut config = versions
            .map_err(fault)?
            .with_no_client_auth()
            .with_cert_resolver(certificate.clone());
        config.alpn_protocols.push(ALPN.to_vec());
        Ok(Self {
            certificate,
            acceptor: TlsAcceptor::from(Arc::new(config)),
        })
    }

    /// Returns the connections whose handshakes succeed. A slow one delays no other; it ends as a connection without a
    /// request does.
    pub(crate) fn accept(
        self,
        incoming: impl Stream<Item = io::Result<Connection>>,
    ) -> impl Stream<Item = io::Result<TlsStream<Connection>>> {
        incoming
            .map(move |connection| {
                let acceptor = self.acceptor.clone();
                tokio::spawn(async move { acceptor.accept(connection?).await })
            })
            // Their number is limited where they are accepted.
            .buffer_unordered(usize::MAX)
            .filter_map(async |shaken| match shaken {
                Ok(Ok(stream)) => Some(Ok(stream)),
                Ok(Err(error)) => {
                    tracing::debug!(%error, "a handshake of TLS");
                    None
                }
                Err(error) => {
                    tracing::error!(%error, "a handshake of TLS died; please report it");
                    None
                }
            })
    }
}

/// Returns the certificates of a file in PEM, and the first name of the first one. With both, a client on the server's
/// machine checks that it reached this server.
///
/// Errors: `Read`, `Certificate`.
pub fn certificate_and_name(path: &Path) -> Result<(Vec<u8>, String), ServerError> {
    let pem = std::fs::read(path).map_err(ServerError::read(path))?;
    let chain = chain(path, &pem)?;
    let fault = |reason: &str| ServerError::Certificate(path.to_owned(), reason.to_owned());
    let first = webpki::EndEntityCert::try_from(&chain[0])
        .map_err(|error| fault(&format!("expected a certificate of a server: {error}")))?;
    let name = first.valid_dns_names().next().map(|name| {
        // Any name below a domain stands for all.
        name.replace('*', "omr")
    });
    let name =
        name.ok_or_else(|| fault("expected a certificate with a DNS name (subjectAltName)"))?;
    Ok((pem, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair};

    /// Writes a new certificate for a name. Returns its bytes.
    fn write(tls: &Tls, name: &str) -> CertificateDer<'static> {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let made = params.self_signed(&key).unwrap();
        std::fs::write(&tls.certificate, made.pem()).unwrap();
        std::fs::write(&tls.key, key.serialize_pem()).unwrap();
        made.der().clone()
    }

    fn used(certificate: &Certificate) -> CertificateDer<'static> {
        certificate.used.read().unwrap().cert[0].clone()
    }

    #[test]
    fn a_new_certificate_is_used_and_a_broken_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let tls = Tls {
            certificate: dir.path().join("tls.crt"),
            key: dir.path().join("tls.key"),
        };
        let first = write(&tls, "a.example");
        let certificate = Certificate::open(&tls).unwrap();
        assert_eq!(used(&certificate), first);

        let second = write(&tls, "b.example");
        certificate.look();
        assert_eq!(used(&certificate), first, "the files have just changed");
        certificate.look();
        assert_eq!(used(&certificate), second);

        let key = std::fs::read(&tls.key).unwrap();
        let other = write(&tls, "c.example");
        std::fs::write(&tls.key, &key).unwrap();
        for broken in [std::fs::read(&tls.certificate).unwrap(), b"no PEM".to_vec()] {
            std::fs::write(&tls.certificate, broken).unwrap();
            certificate.look();
            certificate.look();
            assert_eq!(used(&certificate), second);
            assert_ne!(used(&certificate), other);
        }
        std::fs::remove_file(&tls.certificate).unwrap();
        certificate.look();
        certificate.look();
        assert_eq!(used(&certificate), second);

        let third = write(&tls, "d.example");
        certificate.look();
        certificate.look();
        assert_eq!(used(&certificate), third);
    }

    #[test]
    fn faults_of_the_files_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let tls = Tls {
            certificate: dir.path().join("tls.crt"),
            key: dir.path().join("tls.key"),
        };
        let refused = || Certificate::open(&tls).unwrap_err().to_string();
        assert!(refused().contains("tls.crt"));
        write(&tls, "*.example.org");
        let (_, name) = certificate_and_name(&tls.certificate).unwrap();
        assert_eq!(name, "omr.example.org");
        std::fs::write(&tls.key, "no key").unwrap();
        let text = refused();
        assert!(
            text.contains("tls.key: expected a private key in PEM"),
            "{text}"
        );
        write(&tls, "a.example");
        let key = std::fs::read(&tls.key).unwrap();
        write(&tls, "a.example");
        std::fs::write(&tls.key, key).unwrap();
        let text = refused();
        assert!(text.contains("expected a certificate of the key"), "{text}");
        std::fs::write(&tls.certificate, "").unwrap();
        let text = refused();
        assert!(
            text.contains("tls.crt: expected a certificate in PEM, found none"),
            "{text}"
        );
    }
}
