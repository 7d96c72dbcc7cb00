//! The page for letters: absent by default, with its own headers, and nothing outside its folder.

use crate::world::{Running, config, get, http};
use omr_server::{Config, Server};
use std::path::{Path, PathBuf};

/// Returns the configuration of a server with a page.
fn with_page(parent: &Path) -> Config {
    let data = parent.join("data");
    std::fs::create_dir(&data).unwrap();
    let mut config = config(&data);
    config.page.mail = Some(page(parent));
    config
}

/// Returns a folder with a page, beside a file that must not be served.
fn page(parent: &Path) -> PathBuf {
    let folder = parent.join("page");
    std::fs::create_dir_all(folder.join("icons")).unwrap();
    for (name, text) in [
        ("index.html", "<!doctype html>the page"),
        ("main.js", "the script"),
        ("omr_wasm_bg.wasm", "the module"),
        ("omr_wasm_bg.wasm.gz", "packed"),
        ("icons/a.svg", "<svg/>"),
        ("../secret", "hidden"),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_served_where_it_is_configured() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(with_page(dir.path())).await;
    let bare = http(&server, get("/mail")).await.to_lowercase();
    assert!(
        bare.starts_with("http/1.1 308") && bare.contains("location: /mail/\r\n"),
        "{bare}"
    );
    for (path, kind, text) in [
        ("/mail/", "text/html", "the page"),
        ("/mail/main.js", "text/javascript", "the script"),
        ("/mail/omr_wasm_bg.wasm", "application/wasm", "the module"),
        ("/mail/icons/a.svg", "image/svg+xml", "<svg/>"),
    ] {
        let answer = http(&server, get(path)).await;
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.ends_with(text),
            "{answer}"
        );
        for header in [
            &format!("content-type: {kind}"),
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-cache",
            "cross-origin-resource-policy: same-origin",
            "permissions-policy: camera=(), ",
            "content-security-policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; ",
            "etag: ",
        ] {
            assert!(
                answer.to_lowercase().contains(header),
                "{header} in {answer}"
            );
        }
    }
    assert!(http(&server, get("/")).await.contains("href=\"mail/\""));
    let packed =
        get("/mail/omr_wasm_bg.wasm").replace("\r\nHost", "\r\nAccept-Encoding: gzip\r\nHost");
    assert!(http(&server, packed).await.ends_with("packed"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_loads_no_file_twice() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(with_page(dir.path())).await;
    let answer = http(&server, get("/mail/main.js")).await;
    let tag = answer
        .lines()
        .find_map(|line| line.strip_prefix("etag: "))
        .expect("a tag");
    let again = get("/mail/main.js").replace(
        "\r\nHost",
        &format!("\r\nIf-None-Match: {}\r\nHost", tag.trim()),
    );
    assert!(http(&server, again).await.starts_with("HTTP/1.1 304"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outside_the_folder_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(with_page(dir.path())).await;
    for path in [
        "/mail/../secret",
        "/mail/..%2fsecret",
        "/mail/%2e%2e/secret",
        "/mail/icons/../../secret",
        "/mail/..\\secret",
        "/mail//secret",
        "/mail/absent.js",
    ] {
        let answer = http(&server, get(path)).await;
        assert!(
            answer.starts_with("HTTP/1.1 404") && !answer.contains("hidden"),
            "{path}: {answer}"
        );
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_elsewhere_is_refused_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let settings = with_page(dir.path());
    let link = dir.path().join("page/icons/link");
    std::os::unix::fs::symlink(dir.path().join("secret"), &link).unwrap();
    let error = Server::start(settings.clone())
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("page.mail") && error.contains("icons/link"),
        "{error}"
    );
    std::fs::remove_file(link).unwrap();
    Running::start(settings).await.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_that_are_made_while_the_server_runs_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let mut settings = with_page(dir.path());
    let (folder, current) = (dir.path().join("page"), dir.path().join("current"));
    symlink(&folder, &current).unwrap();
    settings.page.mail = Some(current);
    let server = Running::start(settings).await;
    let outside = dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    for name in ["secret", "index.html", "packed.js.gz"] {
        std::fs::write(outside.join(name), "hidden").unwrap();
    }
    symlink(outside.join("secret"), folder.join("link.js")).unwrap();
    symlink(&outside, folder.join("icons/folder")).unwrap();
    std::fs::write(folder.join("packed.js"), "plain").unwrap();
    symlink(outside.join("packed.js.gz"), folder.join("packed.js.gz")).unwrap();
    for path in [
        "/mail/link.js",
        "/mail/icons/folder",
        "/mail/icons/folder/",
        "/mail/icons/folder/secret",
    ] {
        let answer = http(&server, get(path)).await;
        assert!(
            answer.starts_with("HTTP/1.1 404") && !answer.contains("hidden"),
            "{path}: {answer}"
        );
    }
    let packed = get("/mail/packed.js").replace("\r\nHost", "\r\nAccept-Encoding: gzip\r\nHost");
    let answer = http(&server, packed).await;
    assert!(answer.ends_with("plain"), "{answer}");
    // The files of the folder are still served, although the folder's own name is a link.
    let answer = http(&server, get("/mail/")).await;
    assert!(answer.ends_with("the page"), "{answer}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_page_unless_it_is_configured() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(config(dir.path())).await;
    let answer = http(&server, get("/mail/")).await;
    assert!(
        answer.starts_with("HTTP/1.1 404") && answer.contains("found /mail/"),
        "{answer}"
    );
    assert!(!http(&server, get("/")).await.contains("href=\"mail/\""));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_without_a_page_is_refused_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = with_page(dir.path());
    settings.page.mail = Some(dir.path().to_owned());
    let error = Server::start(settings)
        .await
        .err()
        .expect("an error")
        .to_string();
    assert!(
        error.contains("page.mail") && error.contains("index.html"),
        "{error}"
    );
}
