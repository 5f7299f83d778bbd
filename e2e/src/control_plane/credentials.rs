//! Keys and certificates of one cluster, and kubeconfigs made of them.
//!
//! Each cluster has a certificate authority of its own, so a client that reaches another cluster's
//! API server (ports are reused quickly) fails in the handshake instead of testing the wrong one.
//! Keys live in the cluster's state folder and go with it.

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use serde_json::json;

/// Where the credentials of a cluster are.
pub struct Credentials {
    directory: PathBuf,
    authority: Issuer<'static, KeyPair>,
}

impl Credentials {
    /// Makes the authority, the API server's certificate and the key ServiceAccount tokens are signed with.
    pub fn create(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory)?;
        let key = KeyPair::generate()?;
        let params = authority();
        let certificate = params.self_signed(&key)?;
        fs::write(directory.join("ca.crt"), certificate.pem())?;
        let credentials = Self {
            directory: directory.to_owned(),
            authority: Issuer::new(params, key),
        };
        credentials.issue_server()?;
        credentials.issue_token_key()?;
        Ok(credentials)
    }

    pub fn authority(&self) -> PathBuf {
        self.directory.join("ca.crt")
    }

    pub fn certificate(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.crt"))
    }

    pub fn key(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.key"))
    }

    /// The public half of the ServiceAccount key.
    pub fn token_public_key(&self) -> PathBuf {
        self.directory.join("service-accounts.pub")
    }

    /// A client certificate for `user`, in `group` if any, and a kubeconfig that uses it.
    pub fn client(&self, name: &str, user: &str, group: Option<&str>, server: &str) -> Result<PathBuf> {
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(user, group);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(name, &params)?;
        let identity = json!({
            "client-certificate": self.certificate(name),
            "client-key": self.key(name),
        });
        self.kubeconfig(name, server, None, &identity)
    }

    /// A kubeconfig for a bearer token.
    pub fn bearer(&self, name: &str, token: &str, namespace: &str, server: &str) -> Result<PathBuf> {
        self.kubeconfig(name, server, Some(namespace), &json!({ "token": token }))
    }

    fn issue_server(&self) -> Result<()> {
        // The first address of the service range, and loopback, which is where it really listens.
        let names = [
            "127.0.0.1",
            "10.96.0.1",
            "localhost",
            "kubernetes",
            "kubernetes.default.svc",
        ];
        let mut params = CertificateParams::new(names.map(str::to_owned))?;
        params.distinguished_name = subject("kube-apiserver", None);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue("kube-apiserver", &params)
    }

    /// A certificate for a server on loopback that is a client of its own, too, as etcd's gateway is.
    pub fn peer(&self, name: &str) -> Result<()> {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        params.distinguished_name = subject(name, None);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        self.issue(name, &params)
    }

    fn issue_token_key(&self) -> Result<()> {
        let key = KeyPair::generate()?;
        fs::write(self.token_public_key(), key.public_key_pem())?;
        write_secret(&self.key("service-accounts"), &key.serialize_pem())
    }

    fn issue(&self, name: &str, params: &CertificateParams) -> Result<()> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.authority)?;
        fs::write(self.certificate(name), certificate.pem())?;
        write_secret(&self.key(name), &key.serialize_pem())
    }

    fn kubeconfig(
        &self,
        name: &str,
        server: &str,
        namespace: Option<&str>,
        identity: &serde_json::Value,
    ) -> Result<PathBuf> {
        let path = self.directory.join(format!("{name}.kubeconfig"));
        // JSON is YAML; paths in it are absolute, so the file may be copied anywhere.
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {
                "server": server, "certificate-authority": self.authority(),
            }}],
            "users": [{"name": name, "user": identity}],
            "contexts": [{"name": "lab", "context": {
                "cluster": "lab", "user": name, "namespace": namespace.unwrap_or("default"),
            }}],
        });
        write_secret(&path, &serde_json::to_string_pretty(&kubeconfig)?)?;
        Ok(path)
    }
}

fn authority() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject("lab-ca", None);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// Kubernetes reads the user from the common name and its group from the organization.
fn subject(user: &str, group: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    if let Some(group) = group {
        name.push(DnType::OrganizationName, group);
    }
    name.push(DnType::CommonName, user);
    name
}

/// The file is never readable by others, not even for a moment.
fn write_secret(path: &Path, content: &str) -> Result<()> {
    use std::io::Write as _;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("create {}", path.display()))?;
    file.write_all(content.as_bytes())
        .with_context(|| format!("write {}", path.display()))
}
