//! A store whose objects are in a bucket, over a real S3 server on the loopback.

use std::collections::BTreeMap;
use std::path::Path;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use tokio::net::TcpListener;

use super::{append, back_up, board, check_content, config, key, read_key, upload};
use crate::{Objects, Store, StoreConfig, StoreError};

/// Serves the buckets in `root` until the runtime is dropped. Returns the address.
fn serve(root: &Path) -> (tokio::runtime::Runtime, String) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(root).unwrap());
    builder.set_auth(SimpleAuth::from_single("user", "secret"));
    let service = builder.build();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    runtime.spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let service = service.clone();
            tokio::spawn(async move {
                let server = Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(TokioIo::new(socket), service).await;
            });
        }
    });
    (runtime, address)
}

fn bucket(address: &str, url: &str) -> Objects {
    let options = [
        ("endpoint", address),
        ("region", "us-east-1"),
        ("access_key_id", "user"),
        ("secret_access_key", "secret"),
        ("allow_http", "true"),
    ];
    let options: BTreeMap<_, _> = options
        .map(|(name, value)| (name.into(), value.into()))
        .into();
    Objects::Bucket {
        url: url.into(),
        options,
    }
}

#[test]
fn a_store_in_a_bucket() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("s3");
    std::fs::create_dir_all(root.join("omr")).unwrap();
    let (_server, address) = serve(&root);
    let config = StoreConfig {
        objects: bucket(&address, "s3://omr/boards/a"),
        ..config(&dir)
    };
    Store::create(&config, &board()).unwrap();
    let store = Store::open(&config).unwrap();
    append(&store, 0..30).unwrap();
    assert_eq!(store.seal().unwrap(), 3);
    check_content(&store).unwrap();
    // The object has three parts.
    let (bytes, hash) = key(17 << 20, 9);
    upload(&store, &bytes, hash).unwrap();
    drop(store);
    assert!(root.join("omr/boards/a/segments").is_dir());
    let store = Store::open(&config).unwrap();
    check_content(&store).unwrap();
    assert!(read_key(&store, hash).unwrap() == bytes);
    assert_eq!(store.sweep().unwrap(), 0);
    assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
    restore_elsewhere(&dir, &store, &address, hash);
    lose_objects(
        &store,
        &root.join("omr/boards/a"),
        &dir.path().join("backup"),
    );
    store.delete_key(hash).unwrap();
    assert!(store.inner().place.list("keys").unwrap().is_empty());
}

/// Restores a backup into another prefix of the bucket, and over the same prefix.
fn restore_elsewhere(dir: &tempfile::TempDir, store: &Store, address: &str, hash: [u8; 32]) {
    let folder = dir.path().join("backup");
    assert_eq!(back_up(store, &folder).unwrap().len(), 5);
    for (name, url) in [
        ("b", "s3://omr/boards/b"),
        ("c", "s3://omr/boards/b"),
        ("d", "s3://omr"),
    ] {
        let config = StoreConfig {
            dir: dir.path().join(name),
            objects: bucket(address, url),
            ..config(dir)
        };
        if name == "d" {
            // This prefix contains all others, but no objects of its own.
            let error = Store::open(&config).unwrap_err();
            assert!(matches!(error, StoreError::Missing(_)), "{error}");
        }
        let restored = Store::restore(&config, &folder, &mut |_, _| {}).unwrap();
        assert_eq!((restored.messages, restored.keys), (30, 1));
        let copy = Store::open(&config).unwrap();
        check_content(&copy).unwrap();
        assert!(read_key(&copy, hash).is_ok());
    }
    let config = StoreConfig {
        dir: dir.path().join("e"),
        objects: bucket(address, "s3://omr/boards/b"),
        ..config(dir)
    };
    let other = crate::BoardConfig {
        board_id: [1; 16],
        ..board()
    };
    let error = Store::create(&config, &other).unwrap_err();
    assert!(matches!(error, StoreError::ObjectsExist(_)), "{error}");
}

/// Deletes objects in the bucket: they are reported missing and restored.
fn lose_objects(store: &Store, root: &Path, backup: &Path) {
    let segment = store.segments().unwrap()[1];
    std::fs::remove_file(root.join(segment.name())).unwrap();
    let report = store.verify(&mut |_, _| {}).unwrap();
    assert!(
        matches!(
            report.faults[..],
            [StoreError::Damaged {
                first: 8,
                end: 16,
                ..
            }]
        ),
        "{:?}",
        report.faults
    );
    assert_eq!(
        store.repair(Some(backup)).unwrap().repaired,
        [segment.name()]
    );
    check_content(store).unwrap();
}

#[test]
fn a_bucket_that_is_not_understood() {
    let dir = tempfile::tempdir().unwrap();
    let open = |url: &str, option: &str| {
        let options = [(option.to_owned(), "x".to_owned())].into();
        let objects = Objects::Bucket {
            url: url.into(),
            options,
        };
        Store::create(
            &StoreConfig {
                objects,
                ..config(&dir)
            },
            &board(),
        )
        .unwrap_err()
    };
    for url in [
        "",
        "memory:///",
        "s3://",
        "s3:///a",
        "http://127.0.0.1/a",
        "omr",
    ] {
        let error = open(url, "region");
        assert!(matches!(error, StoreError::BucketUrl(_)), "{url}: {error}");
    }
    let error = open("s3://omr/a", "regoin");
    assert!(matches!(error, StoreError::BucketOption(_)), "{error}");
}
