//! The scripts that run on Windows nodes, read by a real PowerShell grammar: there is no Windows where
//! they are written.

use std::collections::BTreeSet;

use tree_sitter::{Node, Parser, Tree};

/// Variables PowerShell itself sets.
const AUTOMATIC: &[&str] = &["_", "args", "false", "lastexitcode", "null", "true"];
/// Preferences: assigned for PowerShell, not for the script.
const PREFERENCES: &[&str] = &["erroractionpreference"];
/// Commands a script may call: PowerShell's own that every supported Windows has, and those of `hns.psm1`.
const COMMANDS: &[&str] = &[
    "attach-hnshostendpoint",
    "convertfrom-json",
    "convertto-json",
    "copy-item",
    "foreach-object",
    "get-childitem",
    "get-content",
    "get-date",
    "get-filehash",
    "get-hnsendpoint",
    "get-hnsnetwork",
    "get-hnspolicylist",
    "get-netipaddress",
    "get-netroute",
    "import-module",
    "new-hnsendpoint",
    "new-hnsnetwork",
    "new-item",
    "new-netroute",
    "out-string",
    "remove-hnsnetwork",
    "remove-hnspolicylist",
    "remove-item",
    "remove-netroute",
    "select-object",
    "set-content",
    "set-netipinterface",
    "sort-object",
    "split-path",
    "start-sleep",
    "test-path",
    "where-object",
    "write-host",
];
/// Programs a script may start.
const PROGRAMS: &[&str] = &[
    "\"$root/kube-proxy/kube-proxy.exe\"",
    "\"$root/flannel/flanneld.exe\"",
    "\"$env:CNI_BIN_DIR/host-local.exe\"",
    "$find",
];

/// The start script of every DaemonSet, as its ConfigMap has it.
fn scripts() -> [(&'static str, &'static str); 3] {
    use wn_plan::workload::{kube_proxy, network_agent};
    [
        ("kube-proxy", kube_proxy::SCRIPT),
        ("kube-flannel", network_agent::FLANNEL_SCRIPT),
        ("static-routes", network_agent::STATIC_ROUTES_SCRIPT),
    ]
}

fn parse(text: &str) -> Tree {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_powershell::LANGUAGE.into())
        .unwrap();
    parser.parse(text, None).unwrap()
}

/// Every node, in the order of the text.
fn nodes(tree: &Tree) -> Vec<Node<'_>> {
    fn visit<'t>(node: Node<'t>, all: &mut Vec<Node<'t>>) {
        all.push(node);
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            visit(child, all);
        }
    }
    let mut all = Vec::new();
    visit(tree.root_node(), &mut all);
    all
}

fn text<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    &source[node.byte_range()]
}

/// Errors of the grammar, as `line: text`.
fn syntax_errors(source: &str) -> Vec<String> {
    let tree = parse(source);
    nodes(&tree)
        .into_iter()
        .filter(|node| node.is_error() || node.is_missing())
        .map(|node| format!("{}: {:?}", node.start_position().row + 1, text(node, source)))
        .collect()
}

/// `$Name`, `${name}` and `$env:NAME` as `name`, `name` and nothing.
fn variable(node: Node<'_>, source: &str) -> Option<String> {
    let name = text(node, source).trim_start_matches(['$', '@']);
    let name = name.trim_start_matches('{').trim_end_matches('}').to_lowercase();
    (!name.starts_with("env:")).then_some(name)
}

fn has_ancestor(node: Node<'_>, kind: &str) -> bool {
    std::iter::successors(node.parent(), Node::parent).any(|parent| parent.kind() == kind)
}

/// Is this the variable an `=` writes? `+=` reads it too, and a member or an index only reads it.
fn is_assigned(node: Node<'_>, source: &str) -> bool {
    let target =
        std::iter::successors(node.parent(), Node::parent).find(|p| p.kind() == "left_assignment_expression");
    target.is_some_and(|target| {
        let operator = target.next_sibling().map(|operator| text(operator, source));
        text(target, source) == text(node, source) && operator == Some("=")
    })
}

/// Variables that are read before anything wrote them. Text order is the order of execution in these
/// scripts: functions come first and read only their parameters and what is assigned above them.
fn unassigned(source: &str) -> Vec<String> {
    let tree = parse(source);
    let mut known: BTreeSet<String> = AUTOMATIC
        .iter()
        .chain(PREFERENCES)
        .map(|name| (*name).to_owned())
        .collect();
    let mut unknown = Vec::new();
    for node in nodes(&tree).into_iter().filter(|node| node.kind() == "variable") {
        let Some(name) = variable(node, source) else {
            continue;
        };
        let counted = node.parent().is_some_and(|p| p.kind() == "foreach_statement");
        if has_ancestor(node, "script_parameter") || counted || is_assigned(node, source) {
            known.insert(name);
        } else if !known.contains(&name) {
            unknown.push(format!("{}: ${name}", node.start_position().row + 1));
        }
    }
    unknown
}

fn foreign_commands(source: &str) -> Vec<String> {
    let tree = parse(source);
    let all = nodes(&tree);
    let own: BTreeSet<String> = all
        .iter()
        .filter(|node| node.kind() == "function_name")
        .map(|node| text(*node, source).to_lowercase())
        .collect();
    let called = all
        .iter()
        .filter(|node| matches!(node.kind(), "command_name" | "command_name_expr"));
    called
        .map(|node| text(*node, source))
        .filter(|name| {
            let lower = name.to_lowercase();
            !own.contains(&lower) && !COMMANDS.contains(&lower.as_str()) && !PROGRAMS.contains(name)
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn scripts_are_sound() {
    for (name, source) in scripts() {
        assert_eq!(syntax_errors(source), [""; 0], "{name}");
        assert_eq!(unassigned(source), [""; 0], "{name}");
        assert_eq!(foreign_commands(source), [""; 0], "{name}");
        assert!(
            source.is_ascii(),
            "Windows PowerShell 5.1 reads a file without BOM as ANSI"
        );
    }
}

#[test]
fn the_checks_see_what_they_should() {
    assert_eq!(syntax_errors("if ($true) {\n").len(), 1);
    assert_eq!(unassigned("$a = 1\nWrite-Host \"$a $b\""), ["2: $b"]);
    assert_eq!(unassigned("$a += 1"), ["1: $a"]);
    assert_eq!(unassigned("function f($x) { $x }\n$env:A"), [""; 0]);
    assert_eq!(
        foreign_commands("function f { 1 }\nf\nInvoke-WebRequest x\n& $other"),
        ["Invoke-WebRequest", "$other"]
    );
}

/// Each script reads the variables its DaemonSet sets, and no others.
#[test]
fn the_variables_are_those_of_the_pod() {
    for (name, source) in scripts() {
        let tree = parse(source);
        let used: BTreeSet<_> = nodes(&tree)
            .into_iter()
            .filter(|node| node.kind() == "variable" && !is_assigned(*node, source))
            .filter_map(|node| text(node, source).strip_prefix("$env:"))
            .filter(|variable| !OF_WINDOWS.contains(variable))
            .collect();
        assert_eq!(used, variables(name), "{name}");
    }
}

/// Set by containerd, and by Windows.
const OF_WINDOWS: [&str; 2] = ["CONTAINER_SANDBOX_MOUNT_POINT", "SystemDrive"];

/// What the pods of a script have, over all network types.
fn variables(script: &str) -> BTreeSet<&'static str> {
    let api = ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"];
    let own: &[&str] = match script {
        "kube-proxy" => &[
            "CNI_BIN_DIR",
            "HNS_WAIT_SECONDS",
            "KUBE_NETWORK",
            "NETWORK_AGENT",
            "NODENAME",
            "SOURCE_VIP_ENDPOINT",
            "SOURCE_VIP_IPAM",
        ],
        "kube-flannel" => &["CNI_BIN_DIR", "CNI_CONF_DIR", "NODE_IP"],
        _ => &[
            "CNI_BIN_DIR",
            "CNI_CONF_DIR",
            "HNS_NETWORK",
            "NODENAME",
            "NODE_IP",
        ],
    };
    own.iter().chain(&api).copied().collect()
}

/// Functions and commands of a script, in lower case.
fn words(source: &str) -> BTreeSet<String> {
    let tree = parse(source);
    nodes(&tree)
        .into_iter()
        .filter(|node| matches!(node.kind(), "function_name" | "command_name"))
        .map(|node| text(node, source).to_lowercase())
        .collect()
}

/// What can only be read here, a person with a Windows node can run.
#[test]
fn the_page_for_windows_nodes_names_everything() {
    let page = include_str!("../../../../docs/verify-on-windows.md").to_lowercase();
    for (name, source) in scripts() {
        let missing: Vec<_> = words(source)
            .into_iter()
            .filter(|word| !page.contains(word.as_str()))
            .collect();
        assert_eq!(
            missing, [""; 0],
            "of {name} docs/verify-on-windows.md does not speak"
        );
    }
    assert_eq!(
        words("function f { g }"),
        BTreeSet::from(["f".into(), "g".into()])
    );
}
