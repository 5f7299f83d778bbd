//! A cluster without Calico's custom resources, and an etcd that holds Calico.

use crate::control_plane::{CalicoApi, CalicoEtcd, ClusterOptions};
use crate::operator::NAME;
use crate::test_cluster::TestCluster;
use anyhow::Result;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

pub const SECRET: &str = "calico-etcd-secrets";
pub const IPAM: &str = "/calico/ipam/v2/config";
pub const POOL: &str = "/calico/resources/v3/projectcalico.org/ippools/default-ipv4-ippool";
pub const FELIX: &str = "/calico/resources/v3/projectcalico.org/felixconfigurations/default";
pub const BLOCK: &str = "/calico/ipam/v2/assignment/ipv4/block/10.244.194.128-26";

/// Field order is drop order.
pub struct Fixture {
    pub test: TestCluster,
    pub etcd: CalicoEtcd,
}

impl Fixture {
    /// Neither Secret nor config exists.
    pub async fn start() -> Result<Self> {
        let mut fixture = Self::without_operator().await?;
        fixture.test.start_operator().await?;
        Ok(fixture)
    }

    /// The same; the operator does not run.
    pub async fn without_operator() -> Result<Self> {
        let options = ClusterOptions {
            calico_api: CalicoApi::None,
            calico_objects: false,
            ..ClusterOptions::default()
        };
        let test = TestCluster::without_operator_with(options, &[("etcd.secretName", SECRET)]).await?;
        let etcd = CalicoEtcd::start(&test.cluster).await?;
        etcd.seed().await?;
        Ok(Self { test, etcd })
    }

    /// The Secret exists and the config is applied.
    pub async fn configured() -> Result<Self> {
        let fixture = Self::start().await?;
        fixture.own_secret().await?;
        fixture.test.apply(fixture.spec()).await?;
        Ok(fixture)
    }

    pub fn spec(&self) -> Value {
        json!({
            "network": {"type": "CalicoVXLAN"},
            "calico": {
                "datastore": {"type": "Etcd", "etcd": {"endpoints": [self.etcd.url()], "secretRef": {"name": SECRET}}},
                // A Linux pod holds an address of the pool.
                "encapsulation": {"whenInUse": "Migrate"},
            },
        })
    }

    /// Creates the Secret under the keys of Calico's own manifests.
    pub async fn own_secret(&self) -> Result<()> {
        self.secret(["etcd-ca", "etcd-cert", "etcd-key"]).await
    }

    /// Creates the Secret under these keys.
    pub async fn secret(&self, keys: [&str; 3]) -> Result<()> {
        let values: [ByteString; 3] = self.etcd.secret("calico")?;
        let data: serde_json::Map<_, _> = keys
            .iter()
            .zip(values)
            .map(|(key, value)| ((*key).to_owned(), json!(value)))
            .collect();
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET, "namespace": NAME}, "data": data,
        });
        self.test.create("secrets", secret).await
    }

    /// Puts the certificate of another client into the Secret.
    pub async fn replace_secret(&self, client: &str) -> Result<()> {
        let [_, cert, key] = self.etcd.secret(client)?;
        let patch = json!({"data": {"etcd-cert": cert, "etcd-key": key}}).to_string();
        let args = [
            "patch",
            "secret",
            SECRET,
            "-n",
            NAME,
            "--type=merge",
            "-p",
            &patch,
        ];
        self.test.cluster.kubectl(&args).await.map(drop)
    }

    /// Waits until a key has this value.
    pub async fn holds(&self, key: &str, value: &str) -> Result<()> {
        let what = format!("{key} = {value}");
        self.test
            .until(&what, async || {
                Ok((self.etcd.value(key).await? == value).then_some(()))
            })
            .await
    }

    /// Keys and values, without revisions.
    pub async fn contents(&self) -> Result<Vec<(String, String)>> {
        let all = self.etcd.all().await?;
        Ok(all.into_iter().map(|e| (e.key, e.value)).collect())
    }

    /// What Windows nodes need, as Calico itself would have written it.
    pub async fn is_set(&self) -> Result<()> {
        self.holds(
            IPAM,
            r#"{"strict_affinity":true,"auto_allocate_blocks":true,"kubeVirtVMAddressPersistence":"Enabled"}"#,
        )
        .await?;
        self.holds(POOL, &pool("Always", "Never")).await?;
        self.holds(FELIX, &felix(true)).await
    }
}

pub fn pool(vxlan: &str, ipip: &str) -> String {
    let head = r#"{"kind":"IPPool","apiVersion":"projectcalico.org/v3","metadata":{"name":"default-ipv4-ippool","uid":"60eadcf0-0721-46b4-b2a1-c790b85aa172","creationTimestamp":"2026-11-21T10:52:21Z"},"spec":{"cidr":"10.244.0.0/16","#;
    let tail = r#""natOutgoing":true,"blockSize":26,"nodeSelector":"all()","allowedUses":["Workload","Tunnel"],"assignmentMode":"Automatic"}}"#;
    format!(r#"{head}"vxlanMode":"{vxlan}","ipipMode":"{ipip}",{tail}"#)
}

/// As seeded, or as Windows nodes need it.
pub fn felix(set: bool) -> String {
    let head = r#"{"kind":"FelixConfiguration","apiVersion":"projectcalico.org/v3","metadata":{"name":"default","uid":"2a9e0510-2047-401e-a387-3f688aaa943a","creationTimestamp":"2026-11-21T10:52:22Z"},"spec":{"#;
    let tail = r#""nftablesMode":"Auto","bpfLogLevel":"","bpfConnectTimeLoadBalancing":"TCP","bpfHostNetworkedNATWithoutCTLB":"Enabled","floatingIPs":"Disabled"}}"#;
    let ours = if set {
        r#""ipipEnabled":false,"vxlanEnabled":true,"vxlanPort":4789,"vxlanVNI":4096,"#
    } else {
        r#""ipipEnabled":true,"vxlanVNI":4096,"#
    };
    format!("{head}{ours}{tail}")
}
