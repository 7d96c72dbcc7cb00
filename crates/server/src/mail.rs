//! The page for mail: files of a folder, with a policy that allows only what the page needs.

use crate::config::Page;
use crate::error::ServerError;
use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::Redirect;
use axum::routing::get;
use std::fs::Metadata;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use tower_http::services::ServeDir;
use tower_http::services::fs::{Backend, TokioBackend, TokioFile};
use tower_http::set_header::SetResponseHeaderLayer;

/// The paths of the page. The files have addresses relative to the second one.
pub(crate) const PATHS: [&str; 2] = ["/mail", "/mail/"];

/// The content security policy: the page may run its own scripts and module and call this server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The headers of every response. Browsers ask whether a file has changed before they use it again.
const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), display-capture=(), geolocation=(), hid=(), microphone=(), midi=(), payment=(), serial=(), usb=()",
    ),
    (CACHE_CONTROL, "no-cache"),
];

/// Checks that the configured folder contains the page, and no links to files outside.
///
/// Errors: `Setting`, `Read`.
pub(crate) fn check(config: &Page) -> Result<(), ServerError> {
    let Some(folder) = &config.mail else {
        return Ok(());
    };
    if !folder.join("index.html").is_file() {
        return Err(ServerError::setting(
            "page.mail",
            "a folder with the index.html that `cargo xtask web` makes",
            folder.display(),
        ));
    }
    match link_below(folder).map_err(ServerError::read(folder))? {
        Some(link) => Err(ServerError::setting(
            "page.mail",
            "a folder of files",
            format!("the symbolic link {}", link.display()),
        )),
        None => Ok(()),
    }
}

/// Returns a symbolic link below a folder, through which other files would be served.
fn link_below(folder: &Path) -> io::Result<Option<PathBuf>> {
    for entry in std::fs::read_dir(folder)? {
        let file = entry?;
        let kind = file.file_type()?;
        if kind.is_symlink() {
            return Ok(Some(file.path()));
        }
        if kind.is_dir()
            && let Some(link) = link_below(&file.path())?
        {
            return Ok(Some(link));
        }
    }
    Ok(None)
}

/// The files below a folder. A path that leaves the folder through a symbolic link counts as absent, even if the link
/// was created after the server's start. The folder itself may be a link that changes.
#[derive(Clone)]
struct Below(PathBuf);

impl Below {
    /// Returns the path without links.
    ///
    /// Errors: `NotFound` if it lies outside the folder; those of the system.
    async fn resolve(&self, path: PathBuf) -> io::Result<PathBuf> {
        let folder = tokio::fs::canonicalize(&self.0).await?;
        let resolved = tokio::fs::canonicalize(path).await?;
        if resolved.starts_with(folder) {
            Ok(resolved)
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }
}

impl Backend for Below {
    type File = TokioFile;
    type Metadata = Metadata;
    type OpenFuture = Pin<Box<dyn Future<Output = io::Result<TokioFile>> + Send>>;
    type MetadataFuture = Pin<Box<dyn Future<Output = io::Result<Metadata>> + Send>>;

    fn open(&self, path: PathBuf) -> Self::OpenFuture {
        let below = self.clone();
        Box::pin(async move { TokioBackend.open(below.resolve(path).await?).await })
    }

    fn metadata(&self, path: PathBuf) -> Self::MetadataFuture {
        let below = self.clone();
        Box::pin(async move { TokioBackend.metadata(below.resolve(path).await?).await })
    }
}

/// Returns the routes of the page in a folder.
pub(crate) fn router(folder: &Path) -> Router {
    let files = ServeDir::with_backend(folder, Below(folder.to_owned())).precompressed_gzip();
    let [bare, below] = PATHS;
    let router = Router::new()
        .nest_service(below, files)
        .route(bare, get(|| async { Redirect::permanent("/mail/") }));
    HEADERS.into_iter().fold(router, |router, (name, value)| {
        router.layer(SetResponseHeaderLayer::overriding(
            name,
            HeaderValue::from_static(value),
        ))
    })
}
