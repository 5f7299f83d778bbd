use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::json;

use super::*;
use crate::fake::{self, Call};

const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJl";

fn answer(call: &Call) -> (u16, Value) {
    let list = |items: Value| {
        (
            200,
            json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}),
        )
    };
    let line = call.line.as_str();
    if line.contains("/secrets") {
        return (500, json!({}));
    }
    if line.ends_with("/log") {
        return (200, json!(format!("started\nusing {TOKEN}\n")));
    }
    if line.ends_with("/nodes") {
        return (403, json!({}));
    }
    if line.ends_with("/namespaces/ours/pods") {
        let container =
            json!({"name": "main", "restartCount": 1, "ready": false, "image": "i", "imageID": ""});
        return list(
            json!([{"metadata": {"name": "p", "managedFields": []}, "status": {"containerStatuses": [container]},
            "spec": {"containers": [{"name": "main", "env": [{"name": "PASSWORD", "value": "hunter2"}]}]}}]),
        );
    }
    if line.contains("crd.projectcalico.org") {
        return (404, json!({}));
    }
    list(json!([]))
}

/// Name and text of each file.
async fn bundled() -> BTreeMap<String, String> {
    let folder = std::env::temp_dir().join(format!("bundle-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("b.tar.gz");
    let (client, calls) = fake::client(answer);
    let mut bundle = Bundle {
        archive: Archive::create(&file, Timestamp::UNIX_EPOCH).unwrap(),
        errors: Vec::new(),
    };
    for (kind, scope) in KINDS {
        bundle.objects(&client, *kind, *scope, "ours").await.unwrap();
    }
    bundle.logs(&client, "ours").await.unwrap();
    bundle.finish().unwrap();
    assert!(
        Archive::create(&file, Timestamp::UNIX_EPOCH).is_err(),
        "a file was overwritten"
    );
    assert!(
        calls
            .all()
            .iter()
            .all(|call| !call.is_write() && !call.line.contains("/secrets"))
    );
    let mut archive = tar::Archive::new(GzDecoder::new(std::fs::File::open(&file).unwrap()));
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        files.insert(entry.path().unwrap().display().to_string(), text);
    }
    std::fs::remove_dir_all(&folder).unwrap();
    files
}

#[tokio::test]
async fn an_archive_without_secrets() {
    let files = bundled().await;
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    let expected = [
        "errors.txt",
        "logs/p/main.log",
        "logs/p/main.previous.log",
        "objects/ours/pods.json",
    ];
    assert_eq!(names, expected);
    assert!(files["objects/ours/pods.json"].contains("\"PASSWORD\""));
    assert!(files["logs/p/main.log"].contains("started"));
    assert!(
        files["errors.txt"].contains("nodes: you may not list them"),
        "{files:?}"
    );
    for (name, text) in &files {
        assert!(
            !text.contains("hunter2") && !text.contains("eyJ"),
            "{name}: {text}"
        );
    }
}

#[test]
fn too_much_is_left_out() {
    let folder = std::env::temp_dir().join(format!("bundle-size-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut archive = Archive::create(&folder.join("b.tar.gz"), Timestamp::UNIX_EPOCH).unwrap();
    assert!(archive.add("large", &vec![b'a'; 40 << 20]).unwrap());
    assert!(!archive.add("second", &vec![b'a'; 40 << 20]).unwrap());
    assert!(archive.add("small", b"a").unwrap());
    archive.finish().unwrap();
    assert!(std::fs::metadata(folder.join("b.tar.gz")).unwrap().len() < 1 << 20);
    std::fs::remove_dir_all(&folder).unwrap();
}
