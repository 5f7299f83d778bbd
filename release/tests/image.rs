//! The image is what a node can run, and the same whenever it is built. A header of an ELF file stands in for the program.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use wn_release::NAME;
use wn_release::image::digest::Blob;
use wn_release::image::layout::compressed_sizes;
use wn_release::image::{About, Contents, Image, USER};
use wn_release::platform::Platform;

const VERSION: &str = "1.2.3";
const LICENSE: &[u8] = b"a licence";

fn about() -> About {
    About {
        version: VERSION.to_owned(),
        revision: "0123abc".to_owned(),
        source: Some("https://example.com/sources".to_owned()),
        created: jiff::Timestamp::UNIX_EPOCH,
    }
}

fn assemble(platforms: &[(Platform, Vec<u8>)], about: &About) -> Result<Image> {
    let contents: Vec<Contents<'_>> = platforms
        .iter()
        .map(|(platform, program)| Contents {
            platform: *platform,
            program,
            license: LICENSE,
        })
        .collect();
    Image::assemble(&contents, about)
}

fn image() -> Result<Image> {
    assemble(
        &Platform::ALL.map(|platform| (platform, platform.stand_in())),
        &about(),
    )
}

fn parsed(blob: &Blob) -> Value {
    serde_json::from_slice(&blob.bytes).expect("a blob of JSON")
}

fn folder(test: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(test)
}

/// A file of a tar archive: path, mode, owner, time and content.
type Entry = (String, u32, u64, u64, Vec<u8>);

fn entries(archive: &[u8]) -> Result<Vec<Entry>> {
    let mut archive = tar::Archive::new(archive);
    let mut found = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        let header = entry.header();
        let path = entry.path()?.to_str().context("a path is not UTF-8")?.to_owned();
        found.push((path, header.mode()?, header.uid()?, header.mtime()?, bytes));
    }
    Ok(found)
}

#[test]
fn the_index_lists_both_platforms() -> Result<()> {
    let image = image()?;
    let index = parsed(&image.index);
    assert_eq!(index["mediaType"], "application/vnd.oci.image.index.v1+json");
    let platforms: Vec<&Value> = index["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["platform"])
        .collect();
    assert_eq!(
        platforms,
        [
            &json!({"architecture": "amd64", "os": "linux"}),
            &json!({"architecture": "arm64", "os": "linux"})
        ]
    );
    for (entry, platform) in index["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .zip(&image.platforms)
    {
        assert_eq!(entry["digest"], platform.manifest.digest());
        assert_eq!(entry["size"], platform.manifest.bytes.len());
    }
    Ok(())
}

#[test]
fn the_configuration_runs_the_operator_as_nobody() -> Result<()> {
    for platform in image()?.platforms {
        let config = parsed(&platform.config);
        assert_eq!(config["architecture"], platform.platform.architecture());
        assert_eq!(config["os"], "linux");
        assert_eq!(config["created"], "1970-01-01T00:00:00Z");
        let labels: Value = [
            ("title", NAME),
            (
                "description",
                "Makes the Windows nodes of a Calico cluster work, and says which do not and why",
            ),
            ("licenses", "Apache-2.0"),
            ("version", VERSION),
            ("revision", "0123abc"),
            ("source", "https://example.com/sources"),
        ]
        .into_iter()
        .map(|(key, value)| (format!("org.opencontainers.image.{key}"), json!(value)))
        .collect();
        let expected = json!({
            "User": USER,
            "ExposedPorts": {"8080/tcp": {}},
            "Entrypoint": ["/windows-node-operator"],
            "Cmd": ["run"],
            "Labels": labels,
        });
        assert_eq!(config["config"], expected);
        assert_eq!(parsed(&platform.manifest)["annotations"], labels);
    }
    Ok(())
}

#[test]
fn no_source_is_made_up() -> Result<()> {
    let about = About {
        source: None,
        ..about()
    };
    let image = assemble(&[(Platform::Amd64, Platform::Amd64.stand_in())], &about)?;
    let config = parsed(&image.platforms[0].config);
    assert_eq!(
        config["config"]["Labels"].get("org.opencontainers.image.source"),
        None
    );
    Ok(())
}

#[test]
fn the_layer_holds_the_program_and_the_licence_only() -> Result<()> {
    for platform in image()?.platforms {
        let mut tar = Vec::new();
        GzDecoder::new(platform.layer.bytes.as_slice()).read_to_end(&mut tar)?;
        let expected = [
            ("LICENSE".to_owned(), 0o644, 0, 0, LICENSE.to_vec()),
            (NAME.to_owned(), 0o755, 0, 0, platform.platform.stand_in()),
        ];
        assert_eq!(entries(&tar)?, expected);
        let diff_id = format!("sha256:{}", wn_release::image::digest::sha256(&tar));
        assert_eq!(
            parsed(&platform.config)["rootfs"],
            json!({"type": "layers", "diff_ids": [diff_id]})
        );
        let manifest = parsed(&platform.manifest);
        assert_eq!(manifest["config"]["digest"], platform.config.digest());
        assert_eq!(manifest["layers"][0]["digest"], platform.layer.digest());
        assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
    }
    Ok(())
}

/// Labels are in maps without an order, which differs from one value to the next.
#[test]
fn the_digest_is_the_same_each_time() -> Result<()> {
    let first = image()?;
    for _ in 0..20 {
        let again = image()?;
        assert_eq!(again, first);
        assert_eq!(again.archive()?, first.archive()?);
    }
    Ok(())
}

#[test]
fn the_digest_follows_what_is_built() -> Result<()> {
    let mut other = Platform::ALL.map(|platform| (platform, platform.stand_in()));
    other[1].1.push(0);
    let other = assemble(&other, &about())?;
    let first = image()?;
    assert_ne!(other.index.digest(), first.index.digest());
    assert_eq!(other.platforms[0], first.platforms[0], "nothing of amd64 changed");
    Ok(())
}

#[test]
fn a_program_of_another_platform_is_refused() {
    let error = assemble(&[(Platform::Arm64, Platform::Amd64.stand_in())], &about()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the program is for ELF machine 62, linux/arm64 is 183"
    );
}

/// Every blob has the digest that its name says, and nothing refers to one that is missing.
fn assert_sound(files: &[(String, Vec<u8>)]) {
    let names: BTreeSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert!(
        names.contains("oci-layout") && names.contains("index.json"),
        "{names:?}"
    );
    for (name, bytes) in files {
        if let Some(digest) = name.strip_prefix("blobs/sha256/") {
            assert_eq!(digest, wn_release::image::digest::sha256(bytes));
        }
        for part in String::from_utf8_lossy(bytes)
            .split("\"digest\":\"sha256:")
            .skip(1)
        {
            assert!(
                names.contains(format!("blobs/sha256/{}", &part[..64]).as_str()),
                "{name}: {part}"
            );
        }
    }
}

#[test]
fn the_layout_is_complete() -> Result<()> {
    let (image, folder) = (image()?, folder("layout"));
    // A layout of an earlier build goes.
    std::fs::create_dir_all(folder.join("blobs/sha256"))?;
    std::fs::write(folder.join("blobs/sha256/old"), "")?;
    image.write_layout(&folder)?;
    let mut files = Vec::new();
    for name in ["oci-layout", "index.json"] {
        files.push((name.to_owned(), std::fs::read(folder.join(name))?));
    }
    for entry in std::fs::read_dir(folder.join("blobs/sha256"))? {
        let entry = entry?;
        let name = format!("blobs/sha256/{}", entry.file_name().to_string_lossy());
        files.push((name, std::fs::read(entry.path())?));
    }
    assert_eq!(files.len(), 2 + 1 + 2 * 3);
    assert_sound(&files);
    let index: Value = serde_json::from_slice(&files[1].1)?;
    assert_eq!(index["manifests"][0]["digest"], image.index.digest());
    assert_eq!(
        index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"],
        VERSION
    );

    let sizes = compressed_sizes(&folder)?;
    let expected = image
        .platforms
        .iter()
        .map(|p| (p.platform.to_string(), p.compressed_size() as u64));
    assert_eq!(sizes, expected.collect::<Vec<_>>());
    Ok(())
}

#[test]
fn archives_hold_the_same_layout() -> Result<()> {
    let image = image()?;
    let files = |archive: &[u8]| -> Result<Vec<(String, Vec<u8>)>> {
        Ok(entries(archive)?
            .into_iter()
            .map(|entry| (entry.0, entry.4))
            .collect())
    };
    let all = files(&image.archive()?)?;
    assert_sound(&all);
    assert!(
        all.iter().all(|(name, _)| name != "manifest.json"),
        "it can name one platform only"
    );
    for platform in &image.platforms {
        let one = files(&image.platform_archive(platform)?)?;
        assert_sound(&one);
        let (_, manifest) = one
            .iter()
            .find(|(name, _)| name == "manifest.json")
            .context("no manifest.json")?;
        let manifest: Value = serde_json::from_slice(manifest)?;
        let path = |blob: &Blob| blob.digest().replace("sha256:", "blobs/sha256/");
        let expected = json!([{
            "Config": path(&platform.config),
            "RepoTags": [format!("{NAME}:{VERSION}")],
            "Layers": [path(&platform.layer)],
        }]);
        assert_eq!(manifest, expected);
    }
    Ok(())
}
