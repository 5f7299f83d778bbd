use anyhow::Result;
use std::time::Duration;
use wn_e2e::hns::WindowsBuild;
use wn_e2e::proof::*;
use wn_e2e::windows::*;

#[tokio::test(flavor = "multi_thread")]
async fn chain() -> Result<()> {
    let Some(host) = WindowsHost::prepare("windows_kube_proxy", &|line| eprintln!("{line}"))? else {
        return Ok(());
    };
    let minors: Vec<u32> = std::env::var("MINORS")
        .unwrap_or("36".into())
        .split(',')
        .map(|m| m.parse().unwrap())
        .collect();
    for network in [Network::Vxlan, Network::Bgp] {
        let scene = Scene::set(&host, network).await?;
        let mut services = None;
        for minor in &minors {
            let release = Release::of(*minor)?;
            let program = release.build(&|line| eprintln!("{line}"))?;
            let rendered = scene.rendered(&release, Dsr::Auto).await?;
            if services.is_none() {
                services = Some(Services::create(&scene.stage).await?);
            }
            let services = services.as_ref().unwrap();
            println!("{:?}", rendered);
            let hns = scene.hns(WindowsBuild::Server2022).await?;
            let run = Run {
                scene: &scene,
                program: &program,
                hns: &hns,
                rendered: &rendered,
                edit: |a| a,
            };
            let t = std::time::Instant::now();
            let mut proxy = run.start().await?;
            let r = proxy
                .until("lbs", Duration::from_secs(60), async || {
                    (hns.load_balancers().len() > 14).then_some(())
                })
                .await;
            println!(
                "1.{minor} {network:?} {:?} {r:?} after {:?}\n{}",
                KubeProxy::health("/healthz").await,
                t.elapsed(),
                Programmed::read(&hns, services)
            );
            println!("LOG\n{}", proxy.log());
        }
    }
    Ok(())
}
