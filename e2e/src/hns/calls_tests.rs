use super::super::version::WindowsBuild;
use super::*;

fn ask(state: &mut State, line: &Value) -> Vec<String> {
    let call: Call = serde_json::from_value(line.clone()).unwrap();
    let answer = answer(state, &call);
    answer.split_whitespace().map(str::to_owned).collect()
}

fn text(hex: &str) -> String {
    let units = hex
        .as_bytes()
        .chunks(4)
        .map(|unit| u16::from_str_radix(std::str::from_utf8(unit).unwrap(), 16).unwrap());
    String::from_utf16(&units.collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_network_is_made_found_and_read() {
    let mut state = State::new(WindowsBuild::Server2022);
    let settings = json!({"Name": "Büro", "Type": "L2Bridge"}).to_string();
    let made = ask(
        &mut state,
        &json!({"call": "HcnCreateNetwork", "handle": 0, "texts": [settings]}),
    );
    assert_eq!((made[0].as_str(), made[2].as_str()), ("00000000", "-"));
    let query = json!({"Filter": r#"{"Name":"Büro"}"#}).to_string();
    let listed = ask(
        &mut state,
        &json!({"call": "HcnEnumerateNetworks", "texts": [query]}),
    );
    let ids: Vec<String> = serde_json::from_str(&text(&listed[2])).unwrap();
    let opened = ask(&mut state, &json!({"call": "HcnOpenNetwork", "id": ids[0]}));
    let handle: u64 = opened[1].parse().unwrap();
    let read = ask(
        &mut state,
        &json!({"call": "HcnQueryNetworkProperties", "handle": handle, "texts": ["{}"]}),
    );
    let network: Value = serde_json::from_str(&text(&read[2])).unwrap();
    assert_eq!(
        (&network["Name"], &network["ID"]),
        (&json!("Büro"), &json!(ids[0]))
    );
}

#[test]
fn what_is_not_there_or_not_known() {
    let mut state = State::new(WindowsBuild::Server2022);
    for (call, result) in [
        ("HcnOpenLoadBalancer", "80070490"),
        ("HcnDeleteEndpoint", "80070490"),
        ("HcnDanceNetwork", "803b0015"),
        ("HcsCreateNetwork", "803b0015"),
    ] {
        let answer = ask(
            &mut state,
            &json!({"call": call, "id": "00000000-0000-0000-0000-000000000000"}),
        );
        assert_eq!(answer[0], result, "{call}");
        let record: Value = serde_json::from_str(&text(&answer[3])).unwrap();
        assert_eq!(record["Success"], json!(false));
    }
}

#[test]
fn faults_hit_the_calls_they_name() {
    let mut state = State::new(WindowsBuild::Server2022);
    state
        .faults
        .push(("HcnEnumerate".to_owned(), HnsError::ServerUnavailable));
    let failed = ask(
        &mut state,
        &json!({"call": "HcnEnumerateNetworks", "texts": ["{}"]}),
    );
    assert_eq!(failed, ["800706ba", "0", "-", "-"]);
    assert_eq!(
        state.calls,
        [(
            "HcnEnumerateNetworks".to_owned(),
            Some(HnsError::ServerUnavailable)
        )]
    );
    let other = ask(
        &mut state,
        &json!({"call": "HNSCall", "texts": ["GET", "/globals/version", ""]}),
    );
    assert!(text(&other[2]).contains(r#""Success":true"#));
}

/// As hcsshim tells it: `hns failed with error : Element not found. `.
#[test]
fn v1_says_in_its_answer_what_went_wrong() {
    let mut state = State::new(WindowsBuild::Server2022);
    let line = json!({"call": "HNSCall", "texts": ["GET", "/networks/0", ""]});
    let refused = ask(&mut state, &line);
    assert_eq!((refused[0].as_str(), refused[3].as_str()), ("00000000", "-"));
    let record: Value = serde_json::from_str(&text(&refused[2])).unwrap();
    assert_eq!(record["Error"], "Element not found. ");
    state
        .faults
        .push(("HNSCall".to_owned(), HnsError::ServerUnavailable));
    assert_eq!(ask(&mut state, &line), ["800706ba", "0", "-", "-"]);
}
