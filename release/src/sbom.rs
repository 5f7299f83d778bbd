//! The software bill of materials of a program, as CycloneDX 1.5.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::NAME;
use crate::dependencies::{Dependencies, Dependency};
use crate::image::digest::sha256;

/// The document. `time` is that of the commit.
pub fn document(dependencies: &Dependencies, program: &[u8], time: Timestamp) -> Value {
    let (root, rest): (Vec<_>, Vec<_>) = dependencies
        .all
        .iter()
        .partition(|dependency| dependency.name == NAME);
    let mut component = root.first().map_or(Value::Null, |root| component(root));
    component["type"] = json!("application");
    component["hashes"] = json!([{"alg": "SHA-256", "content": sha256(program)}]);
    let edges: Vec<Value> = dependencies
        .all
        .iter()
        .map(|dependency| {
            let to: Vec<String> = dependency
                .dependencies
                .iter()
                .map(|n| reference(&dependencies.all[*n]))
                .collect();
            json!({"ref": reference(dependency), "dependsOn": to})
        })
        .collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": time.to_string(), "component": component},
        "components": rest.into_iter().map(self::component).collect::<Vec<_>>(),
        "dependencies": edges,
    })
}

fn component(dependency: &Dependency) -> Value {
    let mut value = json!({
        "type": "library",
        "bom-ref": reference(dependency),
        "name": dependency.name,
        "version": dependency.version,
        // What is excluded takes part in the build, and is not in the program.
        "scope": if dependency.runtime { "required" } else { "excluded" },
    });
    if let Some(license) = &dependency.license {
        value["licenses"] = json!([{"expression": license}]);
    }
    // Crates of the workspace are in no registry, where the same name may be somebody else's.
    if let Some(checksum) = &dependency.checksum {
        value["purl"] = json!(format!("pkg:cargo/{}@{}", dependency.name, dependency.version));
        value["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    value
}

/// Unique in the document.
fn reference(dependency: &Dependency) -> String {
    format!("{}@{}", dependency.name, dependency.version)
}
