//! The calls of `computenetwork.dll` and `vmcompute.dll`, and what is answered.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value, json};

use super::errors::HnsError;
use super::objects::Kind;
use super::query;
use super::state::State;
use super::v1;

/// The one call of schema v1.
const V1: &str = "HNSCall";

/// One line of the DLL.
#[derive(Debug, Deserialize)]
pub struct Call {
    pub call: String,
    #[serde(default)]
    handle: u64,
    #[serde(default)]
    id: String,
    #[serde(default)]
    texts: Vec<String>,
}

/// What the DLL hands out besides an HRESULT.
#[derive(Debug, Default, PartialEq)]
struct Given {
    handle: u64,
    value: Option<String>,
}

/// Answers a call with a line for the DLL.
pub fn answer(state: &mut State, call: &Call) -> String {
    let fault = state
        .faults
        .iter()
        .find(|(name, _)| call.call.starts_with(name))
        .map(|(_, error)| *error);
    let given = match fault {
        Some(error) => Err(error),
        None => dispatch(state, call),
    };
    state
        .calls
        .push((call.call.clone(), given.as_ref().err().copied()));
    match given {
        Ok(given) => line(0, given.handle, given.value.as_deref(), None),
        Err(error) => refusal(call, error),
    }
}

/// A call of v1 that reached the service succeeds; what went wrong is in its answer.
fn refusal(call: &Call, error: HnsError) -> String {
    match error.record() {
        Some(record) if call.call == V1 => line(0, 0, Some(&record), None),
        record => line(error.hresult(), 0, None, record.as_deref()),
    }
}

fn line(result: u32, handle: u64, value: Option<&str>, record: Option<&str>) -> String {
    format!("{result:08x} {handle} {} {}\n", hex(value), hex(record))
}

fn hex(text: Option<&str>) -> String {
    let mut hex = String::new();
    for unit in text.unwrap_or_default().encode_utf16() {
        // Into a String it cannot fail.
        let _ = write!(hex, "{unit:04x}");
    }
    if hex.is_empty() { "-".to_owned() } else { hex }
}

fn dispatch(state: &mut State, call: &Call) -> Result<Given, HnsError> {
    if call.call == V1 {
        let word = |n: usize| call.texts.get(n).map_or("", String::as_str);
        let output = v1::request(state, word(0), word(1), word(2))?;
        return value(&json!({"Success": true, "Output": output}));
    }
    let name = call
        .call
        .strip_prefix("Hcn")
        .ok_or(HnsError::RequestUnsupported)?;
    let found = Kind::ALL.into_iter().find_map(|kind| {
        let (verb, rest) = name.split_once(kind.as_str())?;
        matches!(rest, "" | "s" | "Properties").then_some((verb, kind))
    });
    let (verb, kind) = found.ok_or(HnsError::RequestUnsupported)?;
    let text = call.texts.first().map_or("{}", String::as_str);
    match verb {
        "Enumerate" => enumerate(state, kind, text),
        "Create" => create(state, kind, call.handle, text),
        "Open" => handle(state.open(kind, &call.id)),
        "Query" => {
            let id = state.behind(kind, call.handle)?;
            let object = state.get(kind, &id).ok_or(HnsError::ElementNotFound)?;
            value(object)
        }
        "Modify" => {
            let id = state.behind(kind, call.handle)?;
            state.modify(kind, &id, parse(text)?).map(|()| Given::default())
        }
        "Delete" => state.delete(kind, &call.id).map(|()| Given::default()),
        "Close" => state.close(call.handle).map(|()| Given::default()),
        _ => Err(HnsError::RequestUnsupported),
    }
}

fn enumerate(state: &State, kind: Kind, text: &str) -> Result<Given, HnsError> {
    let mut ids = Vec::new();
    for object in state.of(kind) {
        if query::matches(text, object)? {
            ids.push(&object["ID"]);
        }
    }
    value(&json!(ids))
}

fn create(state: &mut State, kind: Kind, inside: u64, text: &str) -> Result<Given, HnsError> {
    let mut object = parse(text)?;
    if kind == Kind::Endpoint {
        object["HostComputeNetwork"] = json!(state.behind(Kind::Network, inside)?);
    }
    let id = state.create(kind, object)?;
    handle(state.open(kind, &id))
}

pub(super) fn parse(text: &str) -> Result<Value, HnsError> {
    serde_json::from_str(text).map_err(|_| HnsError::InvalidJson)
}

fn value(value: &Value) -> Result<Given, HnsError> {
    Ok(Given {
        value: Some(value.to_string()),
        ..Given::default()
    })
}

fn handle(handle: Result<u64, HnsError>) -> Result<Given, HnsError> {
    Ok(Given {
        handle: handle?,
        ..Given::default()
    })
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
