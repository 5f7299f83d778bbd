//! Readers of texts that come from the cluster take whatever there is: an answer or none, never a panic.

use proptest::prelude::*;
use serde_json::{Value, json};
use wn_plan::json_text;
use wn_plan::quantity;
use wn_plan::version::Version;

use crate::common::*;

/// Near what is meant, and anything at all.
fn text(like: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![like, any::<String>(), like.prop_map(|t| t.repeat(50))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..kept() })]

    #[test]
    fn any_quantity_is_read_or_refused(text in text("[+-]?[0-9]{0,24}([.][0-9]{0,24})?([eE][+-]?[0-9]{1,3}|[numkMGTPE]i?)?")) {
        let read = quantity::parse(&text);
        prop_assert_eq!(read, quantity::parse(&text));
    }

    #[test]
    fn any_version_is_read_or_refused(text in text("v?[0-9]{0,22}[.][0-9]{0,22}([.][0-9]{0,22})?[-+a-z0-9.]{0,9}")) {
        if let Ok(version) = text.parse::<Version>() {
            prop_assert!(version >= version.clone());
        }
    }

    /// What is changed of flannel's text is the one field; the rest is JSON as before.
    #[test]
    fn any_net_conf_is_edited_or_refused(text in text(r#"[{]("Backend" ?: ?[{]("VNI": ?[0-9]{0,5})?[}])?,? ?"a": ?[\[\]{}"a-z0-9]{0,9}[}]"#), vni in 0_u32..70_000) {
        if let Some(edited) = json_text::with(&text, "Backend.VNI", Some(&json!(vni)), "") {
            let mut before: Value = serde_json::from_str(&text).unwrap();
            let mut after: Value = serde_json::from_str(&edited).unwrap();
            prop_assert_eq!(&after["Backend"]["VNI"], &json!(vni));
            for value in [&mut before, &mut after] {
                if let Some(backend) = value.pointer_mut("/Backend").and_then(Value::as_object_mut) {
                    backend.remove("VNI");
                }
            }
            prop_assert_eq!(before, after);
        }
    }
}
