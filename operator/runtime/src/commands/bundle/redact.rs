//! Removes secrets from objects and logs. Pure. It removes too much rather than too little.

use serde_json::Value;

pub const REDACTED: &str = "<redacted>";

/// Parts of names whose values are secret, in lower case.
const SECRET_NAMES: [&str; 9] = [
    "token",
    "password",
    "passwd",
    "secret",
    "credential",
    "apikey",
    "api_key",
    "private",
    "authorization",
];

/// Annotations with a copy of the object as it was before redaction.
const COPIES: [&str; 1] = ["kubectl.kubernetes.io/last-applied-configuration"];

/// Names of fields that hold references and durations, not secrets, in lower case.
const HARMLESS: [&str; 8] = [
    "secretname",
    "secretref",
    "secretkeyref",
    "imagepullsecrets",
    "automountserviceaccounttoken",
    "serviceaccounttoken",
    "tokenexpirationseconds",
    "secrets",
];

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    !HARMLESS.contains(&name.as_str()) && SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// Removes `managedFields`, copies and values with a secret name, and looks into every text.
pub fn object(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("managedFields");
            // A variable, whose name says what its value is.
            let is_secret_variable = fields.get("name").and_then(Value::as_str).is_some_and(is_secret);
            for (name, value) in fields.iter_mut() {
                let is_secret = is_secret(name)
                    || COPIES.contains(&name.as_str())
                    || (name == "value" && is_secret_variable);
                if is_secret && !value.is_object() && !value.is_boolean() {
                    *value = REDACTED.into();
                } else {
                    object(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(object),
        Value::String(text) => *text = self::text(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Removes private keys, and in each line tokens, user and password of URLs, and what follows a secret name.
pub fn text(text: &str) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut in_key = false;
    for line in text.split_inclusive('\n') {
        let begins = line.contains("-----BEGIN") && line.contains("PRIVATE KEY");
        if in_key || begins {
            in_key = !line.contains("-----END");
            if begins {
                redacted.push_str(REDACTED);
                redacted.push('\n');
            }
            continue;
        }
        redacted.push_str(&self::line(line));
    }
    redacted
}

fn line(line: &str) -> String {
    let mut redacted = String::with_capacity(line.len());
    let mut is_next_secret = false;
    for word in line.split_inclusive(is_between) {
        let bare = word.trim_end_matches(is_between);
        let after = &word[bare.len()..];
        // `Authorization: Bearer abc` has two words after the name.
        let is_scheme = ["bearer", "basic"].contains(&bare.to_lowercase().as_str());
        if bare.is_empty() || is_scheme {
            redacted.push_str(word);
            is_next_secret |= is_scheme;
            continue;
        }
        if is_next_secret || is_token(bare) {
            redacted.push_str(REDACTED);
            is_next_secret = false;
        } else {
            redacted.push_str(&without_user(bare));
            is_next_secret = is_secret(bare) && after.contains([':', '=', '"']);
        }
        redacted.push_str(after);
    }
    redacted
}

/// Characters between a name and its value, and around values.
fn is_between(c: char) -> bool {
    c.is_whitespace()
        || ['"', '\'', '=', ',', ';', '{', '}', '(', ')', '[', ']', '\\'].contains(&c)
        || c == ':'
}

/// A JSON web token, as ServiceAccounts have.
fn is_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.matches('.').count() == 2
}

/// `user@host` of a URL: the part before the `@` may end a password.
fn without_user(word: &str) -> String {
    match word.rsplit_once('@') {
        Some((_, host)) => format!("{REDACTED}@{host}"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    const JWT: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJl";

    #[rstest]
    #[case::token(&format!("got {JWT} from"), "got <redacted> from")]
    #[case::header("Authorization: Bearer abc123", "Authorization: Bearer <redacted>")]
    #[case::assignment("password=hunter2 user=me", "password=<redacted> user=me")]
    #[case::yaml("token: abc\nserver: https://h", "token: <redacted>\nserver: https://h")]
    #[case::json(
        r#"{"client_secret":"abc","a":"b"}"#,
        r#"{"client_secret":"<redacted>","a":"b"}"#
    )]
    #[case::url("https://me:hunter2@etcd:2379", "https://me:<redacted>@etcd:2379")]
    #[case::key(
        "a\n-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nb",
        "a\n<redacted>\nb"
    )]
    #[case::unfinished_key("-----BEGIN PRIVATE KEY-----\nabc\n", "<redacted>\n")]
    #[case::nothing("token bucket is full", "token bucket is full")]
    fn texts(#[case] found: &str, #[case] expected: &str) {
        assert_eq!(text(found), expected);
    }

    #[test]
    fn objects() {
        let mut value = json!({
            "metadata": {"managedFields": [1], "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
            "spec": {
                "containers": [{"env": [
                    {"name": "ETCD_PASSWORD", "value": "hunter2"},
                    {"name": "CLUSTER", "value": JWT},
                    {"name": "MTU", "value": "1400"},
                    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "token"}}},
                ]}],
                "secretName": "certs", "automountServiceAccountToken": true,
            },
            "data": {"kubeconfig": "users:\n- token: abc\n", "password": "hunter2"},
        });
        object(&mut value);
        let expected = json!({
            "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "<redacted>"}},
            "spec": {
                "containers": [{"env": [
                    {"name": "ETCD_PASSWORD", "value": "<redacted>"},
                    {"name": "CLUSTER", "value": "<redacted>"},
                    {"name": "MTU", "value": "1400"},
                    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "token"}}},
                ]}],
                "secretName": "certs", "automountServiceAccountToken": true,
            },
            "data": {"kubeconfig": "users:\n- token: <redacted>\n", "password": "<redacted>"},
        });
        assert_eq!(value, expected);
    }
}
