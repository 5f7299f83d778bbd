//! Names of images.

use wn_api::spec::Image;

/// Where upstream publishes an image.
#[derive(Clone, Debug, PartialEq)]
pub struct DefaultImage {
    /// Registry of upstream.
    pub registry: &'static str,
    /// Repository without registry.
    pub repository: String,
    /// Tag.
    pub tag: String,
}

/// The reference a container uses. `spec.imageRegistry` moves every image of an air-gapped cluster at once,
/// so the registry of a single image, which is more specific, wins over it.
pub fn reference(image: &Image, default: DefaultImage, global_registry: Option<&str>) -> String {
    let registry = image
        .registry
        .as_deref()
        .or(global_registry)
        .unwrap_or(default.registry);
    let repository = image.repository.as_deref().unwrap_or(&default.repository);
    let tag = image.tag.as_deref().unwrap_or(&default.tag);
    match &image.digest {
        Some(digest) => format!("{registry}/{repository}@{digest}"),
        None => format!("{registry}/{repository}:{tag}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn image(parts: [Option<&str>; 4]) -> Image {
        let [registry, repository, tag, digest] = parts.map(|p| p.map(str::to_owned));
        Image {
            registry,
            repository,
            tag,
            digest,
            pull_policy: None,
        }
    }

    #[rstest]
    #[case::upstream([None, None, None, None], None, "quay.io/calico/node-windows:v3.30.0")]
    #[case::global([None, None, None, None], Some("hub.corp:5000"), "hub.corp:5000/calico/node-windows:v3.30.0")]
    #[case::own_wins([Some("a.b"), None, None, None], Some("hub.corp"), "a.b/calico/node-windows:v3.30.0")]
    #[case::path_in_registry([Some("a.b/mirror"), None, None, None], None, "a.b/mirror/calico/node-windows:v3.30.0")]
    #[case::repository([None, Some("x/node-windows"), None, None], None, "quay.io/x/node-windows:v3.30.0")]
    #[case::tag([None, None, Some("v3.30.0-fips"), None], None, "quay.io/calico/node-windows:v3.30.0-fips")]
    #[case::digest([None, None, None, Some(DIGEST)], None, &format!("quay.io/calico/node-windows@{DIGEST}"))]
    fn references(#[case] parts: [Option<&str>; 4], #[case] global: Option<&str>, #[case] expected: &str) {
        let default = DefaultImage {
            registry: "quay.io",
            repository: "calico/node-windows".into(),
            tag: "v3.30.0".into(),
        };
        assert_eq!(reference(&image(parts), default, global), expected);
    }
}
