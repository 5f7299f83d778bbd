//! What the agent and the CNI plugin need to reach Calico's etcd. The containers read the mounted Secret; the
//! plugin runs outside every pod, so the installer copies the files into the folder of CNI configuration
//! (`cni-plugin/pkg/install/install.go`, `TLSAssetsDir`: `calico-tls/etcd-ca`, `etcd-cert`, `etcd-key`).

use k8s_openapi::api::core::v1::{EnvVar, KeyToPath, SecretVolumeSource, Volume, VolumeMount};
use serde_json::{Value, json};

use wn_api::names::etcd::{CA, CERT, KEY};
use wn_api::spec::EtcdSecret;

use crate::calico::datastore::secret_keys;
use crate::workload::meta::{ROOT, env};
use crate::workload::{EtcdAccess, RenderContext};

const VOLUME: &str = "etcd-certs";
/// The installer's own default, and where Calico's Linux manifests mount it.
const MOUNT: &str = "/calico-secrets";

/// Variables of libcalico's client (`lib/apiconfig/apiconfig.go`); `config-hpc.ps1` sets none of them.
pub fn client_env(context: &RenderContext) -> Vec<EnvVar> {
    let Some(etcd) = &context.etcd else {
        return vec![env("DATASTORE_TYPE", "kubernetes")];
    };
    let mut all = vec![
        env("DATASTORE_TYPE", "etcdv3"),
        env("ETCD_ENDPOINTS", etcd.endpoints.join(",")),
    ];
    if etcd.secret.is_some() {
        let file = |name: &str| format!("{ROOT}{MOUNT}/{name}");
        all.push(env("ETCD_CA_CERT_FILE", file(CA)));
        all.push(env("ETCD_CERT_FILE", file(CERT)));
        all.push(env("ETCD_KEY_FILE", file(KEY)));
    }
    all
}

/// Where the installer finds what it copies. It takes the path as it is, so that of the container is named in full.
pub fn installer_env(context: &RenderContext) -> Option<EnvVar> {
    secret(context)?;
    Some(env("TLS_ASSETS_DIR", format!("{ROOT}{MOUNT}")))
}

pub fn volume(context: &RenderContext) -> Option<Volume> {
    let secret = secret(context)?;
    let items = secret_keys(secret).into_iter().zip([CA, CERT, KEY]);
    let source = SecretVolumeSource {
        secret_name: Some(secret.name.clone()),
        items: Some(
            items
                .map(|(key, path)| KeyToPath {
                    key: key.to_owned(),
                    path: path.to_owned(),
                    mode: None,
                })
                .collect(),
        ),
        ..SecretVolumeSource::default()
    };
    Some(Volume {
        name: VOLUME.to_owned(),
        secret: Some(source),
        ..Volume::default()
    })
}

pub fn mount(context: &RenderContext) -> Option<VolumeMount> {
    secret(context)?;
    Some(VolumeMount {
        name: VOLUME.to_owned(),
        mount_path: MOUNT.to_owned(),
        read_only: Some(true),
        ..VolumeMount::default()
    })
}

/// Sets the plugin's datastore (`cni-plugin/pkg/types/types.go`, `NetConf`); `dir` is the folder of CNI configuration
/// on the node, with its drive.
pub fn in_cni_config(plugin: &mut Value, etcd: &EtcdAccess, dir: &str) {
    plugin["datastore_type"] = json!("etcdv3");
    plugin["etcd_endpoints"] = json!(etcd.endpoints.join(","));
    if etcd.secret.is_some() {
        let file = |name: &str| json!(format!("{dir}/calico-tls/{name}"));
        plugin["etcd_ca_cert_file"] = file(CA);
        plugin["etcd_cert_file"] = file(CERT);
        plugin["etcd_key_file"] = file(KEY);
    }
}

fn secret(context: &RenderContext) -> Option<&EtcdSecret> {
    context.etcd.as_ref()?.secret.as_ref()
}
