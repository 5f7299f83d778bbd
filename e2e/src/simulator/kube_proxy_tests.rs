use super::*;

const SCRIPT: &str = r#"
$ep = Get-HnsEndpoint | ? Name -EQ 'Calico_ep'
$arguments += "--source-vip=$($ep.IPAddress)"
$arguments += "--hostname-override=$env:NODENAME"
"server: https://${env:KUBERNETES_SERVICE_HOST}:${env:KUBERNETES_SERVICE_PORT}"
"#;

/// A node where everything is right; a test spoils one thing.
struct Case {
    host_process: bool,
    script: Script,
    args: Vec<&'static str>,
    image: &'static str,
    env: Env,
    kernel: &'static str,
    network: Option<Network>,
    endpoint: bool,
}

fn verdict(spoil: impl FnOnce(&mut Case)) -> Verdict {
    let env = [
        ("NODENAME", "win-0"),
        ("KUBERNETES_SERVICE_HOST", "172.20.0.1"),
        ("KUBERNETES_SERVICE_PORT", "6443"),
    ];
    let mut case = Case {
        host_process: true,
        script: Script::Mounted(SCRIPT.to_owned()),
        args: vec!["--proxy-mode=kernelspace", "--enable-dsr=true"],
        image: "sigwindowstools/kube-proxy:v1.36.1-calico-hostprocess",
        env: env
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        kernel: "10.0.20348.2700",
        network: Some(Network::Overlay),
        endpoint: true,
    };
    spoil(&mut case);
    let args: Vec<String> = case.args.iter().map(|&arg| arg.to_owned()).collect();
    start(&ProxyInput {
        host_process: case.host_process,
        script: case.script,
        flags: flags(&args),
        minor: minor(case.image, &case.env),
        env: &case.env,
        node_name: "win-0",
        cluster_ip: Some("10.96.0.1"),
        kernel: case.kernel,
        network: case.network,
        other: Some(("flannel.4096", Network::Overlay)),
        endpoint: case.endpoint,
    })
}

#[track_caller]
fn starts(spoil: impl FnOnce(&mut Case)) {
    assert_eq!(verdict(spoil), Ok(()));
}

#[track_caller]
fn fails(kind: Kind, text: &str, spoil: impl FnOnce(&mut Case)) {
    let failure = verdict(spoil).unwrap_err();
    assert_eq!(failure.kind, kind, "{}", failure.message);
    assert!(failure.message.contains(text), "{}", failure.message);
}

const OLD_IMAGE: &str = "sigwindowstools/kube-proxy:v1.32.4-calico-hostprocess";

#[test]
fn starts_where_all_is_right() {
    starts(|_| {});
    starts(|case| case.script = Script::Image);
    starts(|case| case.args = vec![]);
    starts(|case| case.args.push("--feature-gates=WinDSR=true"));
    starts(|case| {
        case.image = OLD_IMAGE;
        case.args.push("--feature-gates=WinDSR=true");
    });
    starts(|case| {
        case.network = Some(Network::L2Bridge);
        case.endpoint = false;
        case.script = Script::Mounted(String::new());
    });
    starts(|case| {
        case.script = Script::Mounted(SCRIPT.replace("--source-vip", ""));
        case.args.push("--source-vip=10.244.0.2");
    });
}

#[test]
fn waits_for_the_node() {
    fails(Kind::Waits, "HNS network Calico", |case| case.network = None);
    fails(Kind::Waits, "Calico_ep", |case| case.endpoint = false);
    fails(Kind::Waits, "nodes \"\" not found", |case| {
        drop(case.env.remove("NODENAME"))
    });
    fails(Kind::Waits, "nodes \"x\" not found", |case| {
        case.args.push("--hostname-override=x")
    });
    starts(|case| case.args.push("--hostname-override=win-0"));
}

#[test]
fn exits_where_kube_proxy_does() {
    fails(Kind::Create, "HostProcess", |case| case.host_process = false);
    fails(Kind::Exit, "does not exist", |case| {
        case.script = Script::Missing("start.ps1".to_owned())
    });
    fails(Kind::Exit, "must be kernelspace", |case| {
        case.args.push("--proxy-mode=iptables")
    });
    fails(Kind::Exit, "locked to true", |case| {
        case.args.push("--feature-gates=WinDSR=false")
    });
    fails(Kind::Exit, "unrecognized feature gate: IPv6DualStack", |case| {
        case.args.push("--feature-gates=IPv6DualStack=true");
    });
    fails(Kind::Exit, "WinDSR feature gate not enabled", |case| {
        case.image = OLD_IMAGE
    });
    fails(Kind::Exit, "WinOverlay feature gate not enabled", |case| {
        case.image = OLD_IMAGE;
        case.args.push("--feature-gates=WinDSR=true,WinOverlay=false");
    });
    fails(Kind::Exit, "source-vip flag not set", |case| {
        case.script = Script::Mounted(SCRIPT.replace("Calico_ep", "other"));
    });
    fails(Kind::Exit, "host must be a URL", |case| {
        drop(case.env.remove("KUBERNETES_SERVICE_HOST"))
    });
    fails(Kind::Exit, "host must be a URL", |case| {
        case.script = Script::Mounted(SCRIPT.replace("KUBERNETES_SERVICE_HOST", "NOBODY_SET_THIS"));
    });
    fails(Kind::Exit, "before kube-proxy", |case| {
        case.env
            .insert("KUBERNETES_SERVICE_HOST".to_owned(), "10.96.0.1".to_owned());
    });
}

#[test]
fn dsr_by_build() {
    for (kernel, supported) in [
        ("10.0.17763.1431", false),
        ("10.0.17763.1432", true),
        ("10.0.14393.5000", false),
        ("10.0.18362.1", true),
        ("10.0.26100.1", true),
        ("", false),
    ] {
        if supported {
            starts(|case| case.kernel = kernel);
        } else {
            fails(Kind::Exit, "Direct Server Return", |case| case.kernel = kernel);
            starts(|case| {
                case.kernel = kernel;
                case.args = vec!["--enable-dsr=false"];
            });
        }
    }
}

#[test]
fn version_comes_from_the_tag_then_the_environment() {
    let env = Env::from([("K8S_VERSION".to_owned(), "v1.31.2".to_owned())]);
    for (image, expected) in [
        ("sigwindowstools/kube-proxy:v1.34.2-calico-hostprocess", 34),
        (
            "registry:5000/kube-proxy:v1.29.0_rke2r1-calico-hostprocess@sha256:00",
            29,
        ),
        ("kube-proxy@sha256:00", 31),
        ("kube-proxy:latest", 31),
    ] {
        assert_eq!(minor(image, &env), expected, "{image}");
    }
    assert_eq!(minor("kube-proxy:latest", &Env::new()), NEWEST_MINOR);
}

#[test]
fn script_is_found_where_it_is_mounted() {
    let container = |word: &str, mount: &str| Resolved {
        args: vec!["-File".to_owned(), word.to_owned(), "--v=2".to_owned()],
        mounts: [(
            mount.to_owned(),
            [("start.ps1".to_owned(), "text".to_owned())].into(),
        )]
        .into(),
        ..Resolved::default()
    };
    let mounted = Script::Mounted("text".to_owned());
    for (word, mount, expected) in [
        (
            "$env:CONTAINER_SANDBOX_MOUNT_POINT/scripts/start.ps1",
            "/scripts",
            mounted.clone(),
        ),
        (
            "%CONTAINER_SANDBOX_MOUNT_POINT%\\scripts\\start.ps1",
            "/scripts/",
            mounted.clone(),
        ),
        (
            "${env:CONTAINER_SANDBOX_MOUNT_POINT}/scripts/start.ps1",
            "/scripts",
            mounted.clone(),
        ),
        ("C:\\scripts\\start.ps1", "/scripts", mounted),
        (
            "/scripts/other.ps1",
            "/scripts",
            Script::Missing("/scripts/other.ps1".to_owned()),
        ),
        (
            "$env:CONTAINER_SANDBOX_MOUNT_POINT/kube-proxy/start.ps1",
            "/var/lib/kube-proxy",
            Script::Image,
        ),
    ] {
        assert_eq!(script_of(&container(word, mount)), expected, "{word}");
    }
}

#[test]
fn flags_are_found_in_any_wrapping() {
    let args = [
        "-Command".to_owned(),
        "& ./start.ps1 --a=1 '--b' --feature-gates=A=true".to_owned(),
    ];
    let more = ["--feature-gates=B=false".to_owned(), "--a=2".to_owned()];
    let found = flags(&[args, more].concat());
    for (name, value) in [("a", "2"), ("b", "true"), ("feature-gates", "A=true,B=false")] {
        assert_eq!(found[name], value);
    }
}

/// On flannel's overlay the address comes of host-local, if the script is configured to use it.
#[test]
fn source_vip_of_another_overlay() {
    let on_flannel = |case: &mut Case| {
        case.network = None;
        case.args.push("--network-name=flannel.4096");
        case.script = Script::Mounted(format!("{SCRIPT}if ($env:VIP_FROM) {{ host-local.exe }}"));
    };
    fails(Kind::Exit, "source-vip flag not set", on_flannel);
    starts(|case| {
        on_flannel(case);
        case.env.insert("VIP_FROM".to_owned(), "host-local".to_owned());
    });
    fails(Kind::Waits, "waiting for HNS network cbr0", |case| {
        case.args.push("--network-name=cbr0");
    });
}
