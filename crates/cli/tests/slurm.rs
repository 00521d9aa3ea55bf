//! Sweeps on a real Slurm that the test starts and stops, and errors of `submit` and `status`.
#![cfg(unix)]

use std::collections::HashMap;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until a condition is true.
fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the path of a program, also of daemons that are not in PATH.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    path.split(':').map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}

/// A private Slurm: key, configuration, state and sockets are in one folder.
struct Cluster {
    folder: PathBuf,
    munged: Option<Child>,
    controller: Option<Child>,
    node: Option<Child>,
}

impl Cluster {
    /// Starts Slurm, or returns why it cannot.
    fn start(folder: &Path) -> Result<Cluster, String> {
        for program in ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo"] {
            find(program).ok_or(format!("{program} is not installed"))?;
        }
        if text(&Command::new("id").arg("-u").output().unwrap().stdout).trim() != "0" {
            return Err("slurmd needs root".into());
        }
        let at = |name: &str| folder.join(name);
        for name in ["state", "spool"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
        let key: Vec<u8> = (0..1024_u128)
            .map(|i| (seed.wrapping_mul(6_364_136_223_846_793_005 + 2 * i) >> 40) as u8)
            .collect();
        std::fs::write(at("key"), key).unwrap();
        std::fs::set_permissions(at("key"), std::fs::Permissions::from_mode(0o400)).unwrap();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap();
        // Both ports are held until both are known, so that they differ.
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [first, second] = free.map(|listener| listener.local_addr().unwrap().port());
        let here = folder.display();
        let configuration = format!(
            "ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={first}
SlurmdPort={second}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A task that is put back waits until its old credential is worthless.
AuthInfo=socket={here}/munge.socket,cred_expire=5
StateSaveLocation={here}/state
SlurmdSpoolDir={here}/spool
SlurmctldPidFile={here}/slurmctld.pid
SlurmdPidFile={here}/slurmd.pid
SlurmctldLogFile={here}/slurmctld.log
SlurmdLogFile={here}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
KillWait=5
MailProg=/bin/true
NodeName=node NodeHostname={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=64 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"
        );
        std::fs::write(at("slurm.conf"), configuration).unwrap();
        let mut cluster = Cluster { folder: folder.into(), munged: None, controller: None, node: None };
        let paths = [
            "key-file=key",
            "socket=munge.socket",
            "pid-file=munge.pid",
            "log-file=munge.log",
            "seed-file=munge.seed",
        ];
        let paths = paths.map(|path| {
            let (name, file) = path.split_once('=').unwrap();
            format!("--{name}={here}/{file}")
        });
        let flags = [["--foreground".to_string(), "--force".to_string()].as_slice(), &paths].concat();
        cluster.munged = Some(cluster.daemon("munged", &flags));
        until("munged", || at("munge.socket").exists());
        cluster.controller = Some(cluster.daemon("slurmctld", &["-D".into()]));
        cluster.start_node();
        Ok(cluster)
    }

    fn daemon(&self, program: &str, arguments: &[String]) -> Child {
        let log = std::fs::File::create(self.folder.join(format!("{program}.out"))).unwrap();
        Command::new(find(program).unwrap())
            .args(arguments)
            .env("SLURM_CONF", self.folder.join("slurm.conf"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap()
    }

    fn start_node(&mut self) {
        self.node = Some(self.daemon("slurmd", &["-D".into(), "-N".into(), "node".into()]));
        until("a node", || {
            let (states, _) = self.slurm("sinfo --noheader --format=%T");
            matches!(states.trim(), "idle" | "mixed" | "allocated")
        });
    }

    /// Kills slurmd.
    fn kill_node(&mut self) {
        if let Some(mut node) = self.node.take() {
            node.kill().unwrap();
            node.wait().unwrap();
        }
    }

    /// Runs a Slurm command.
    fn slurm(&self, line: &str) -> (String, bool) {
        let mut words = line.split_whitespace();
        let output = Command::new(words.next().unwrap())
            .args(words)
            .env("SLURM_CONF", self.folder.join("slurm.conf"))
            .output()
            .unwrap();
        (text(&output.stdout) + &text(&output.stderr), output.status.success())
    }

    fn superpose(&self, folder: &Path, arguments: &[&str]) -> (String, String) {
        let mut command = superpose(folder, arguments);
        let output = command.env("SLURM_CONF", self.folder.join("slurm.conf")).output().unwrap();
        let (out, error) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {out}{error}{}", self.logs());
        (out, error)
    }

    fn logs(&self) -> String {
        let read = |name| std::fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        format!("\n{}\n{}", read("slurmctld.log"), read("slurmd.log"))
    }

    fn is_empty(&self) -> bool {
        self.slurm("squeue --noheader").0.trim().is_empty()
    }
}

/// Ends the jobs and then the daemons, each by its process id, however the test ends.
impl Drop for Cluster {
    fn drop(&mut self) {
        if self.controller.is_some() && self.node.is_some() && !self.is_empty() {
            self.slurm("scancel --user=root");
            let begun = Instant::now();
            while !self.is_empty() && begun.elapsed() < Duration::from_secs(15) {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        for mut child in
            [&mut self.node, &mut self.controller, &mut self.munged].into_iter().filter_map(Option::take)
        {
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let begun = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && begun.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn superpose(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superpose"));
    command.args(arguments).current_dir(folder);
    for name in ["ID", "COUNT", "MIN", "MAX", "STEP"] {
        command.env_remove(format!("SLURM_ARRAY_TASK_{name}"));
    }
    command
}

/// Returns all rows of a store without their times, by key.
fn rows(store: &Path) -> HashMap<String, String> {
    let output = superpose(Path::new("."), &["export", store.to_str().unwrap(), "--format", "jsonl"])
        .output()
        .unwrap();
    let lines = text(&output.stdout);
    let rows: HashMap<String, String> = lines
        .lines()
        .map(|line| {
            let mut entry: serde_json::Value = serde_json::from_str(line).unwrap();
            entry["result"]["done"]["seconds"] = 0.into();
            (entry["key"].as_str().unwrap().to_string(), entry.to_string())
        })
        .collect();
    assert_eq!(rows.len(), lines.lines().count());
    rows
}

/// With killed tasks, a killed `slurmd`, a requeued task and an intermediate merge, the store is that of a local run and no cell is
/// run twice.
#[test]
fn killed_slurm_array_equals_a_local_run() {
    let home = tempfile::tempdir().unwrap();
    let mut cluster = match Cluster::start(home.path()) {
        Ok(cluster) => cluster,
        Err(why) => {
            // The test command sets this variable where Slurm can run.
            assert!(std::env::var_os("SUPERPOSE_REQUIRE_SLURM").is_none(), "Slurm is required: {why}");
            // Bypasses the capture of output, so that a skipped test is visible.
            let bar = "*".repeat(80);
            let note =
                format!("\n{bar}\nNOT TESTED: sweeps on Slurm. {why} (Debian: slurm-wlm and munge)\n{bar}\n");
            std::io::stderr().write_all(note.as_bytes()).unwrap();
            return;
        }
    };
    let work = tempfile::Builder::new().prefix("it's a sweep").tempdir().unwrap();
    let folder = work.path();
    std::fs::write(
        folder.join("my sweep.toml"),
        "vocab = 300\ndim = 64\nlength = 24\nsamples = 24000\ntest_samples = 1000\nrepeats = 400\n",
    )
    .unwrap();
    let local = superpose(folder, &["sweep", "my sweep.toml", "--store", "local.sqlite"]).output().unwrap();
    assert!(local.status.success(), "{}", text(&local.stderr));

    let submit = ["submit", "slurm", "my sweep.toml", "--tasks", "4", "--", "--comment", "two words"];
    let shard = |task: usize| folder.join(format!("my sweep.shards/{task}-of-4.jsonl"));
    let log = |task: usize| std::fs::read_to_string(shard(task).with_extension("log")).unwrap_or_default();
    let lines = |task: usize| std::fs::read_to_string(shard(task)).unwrap_or_default().lines().count();
    let status = |cluster: &Cluster| -> serde_json::Value {
        serde_json::from_str(&cluster.superpose(folder, &["status", "my sweep.toml", "--json"]).0).unwrap()
    };
    // With a stride, some versions of squeue omit the last task when they print tasks one by one.
    std::fs::write(folder.join("b.toml"), Careless::sweep(21)).unwrap();
    for task in (2..=20).step_by(2) {
        cluster.superpose(folder, &["sweep", "b.toml", "--shard", &format!("{task}/21")]);
    }
    let (out, _) = cluster.superpose(folder, &["submit", "slurm", "b.toml", "--tasks", "21", "--", "--hold"]);
    assert!(out.contains("11 tasks of 21, 1,3,5,"), "{out}");
    let (out, _) = cluster.superpose(folder, &["status", "b.toml"]);
    assert!(out.contains("21 tasks: 10 complete, 0 running, 11 waiting, 0 stopped"), "{out}");
    cluster.slurm("scancel 1");
    until("the end of job 1", || cluster.is_empty());

    let (out, error) = cluster.superpose(folder, &submit);
    assert!(
        out.starts_with("Job 2: 4 tasks of 4, 1-4; script ") && error.contains("400 cells; "),
        "{out}{error}"
    );

    until("results of tasks 1 and 2", || lines(1) > 0 && lines(2) > 0);
    let (out, worked) = cluster.slurm("scancel --signal=KILL --full 2_1");
    assert!(worked, "{out}");
    until("results of task 3", || lines(3) > 0);
    // The signal that Slurm sends a minute before the time limit.
    cluster.slurm("scancel --signal=TERM --batch 2_3");
    let now = status(&cluster);
    assert_eq!(now["tasks"]["stopped"][0]["task"], 1, "{now}");
    let state = now["tasks"]["stopped"][0]["state"].as_str().unwrap();
    assert!(matches!(state, "CANCELLED" | "FAILED"), "{now}");
    assert!(now["cells"]["running"].as_u64() > Some(0) && now["seconds_left"].as_f64() > Some(0.0), "{now}");
    let merge = ["merge", "--store", "my sweep.sqlite"];
    cluster.superpose(folder, &merge);
    cluster.kill_node();
    std::thread::sleep(Duration::from_millis(300));
    cluster.start_node();
    until("task 2 put back", || cluster.slurm("scontrol requeue 2_2").1);
    until("the end of the job", || cluster.is_empty());
    assert!(log(3).contains("stopped: "), "{}", log(3));
    assert_eq!(log(2).matches("share 2 of 4").count(), 2, "{}", log(2));

    // Only missing tasks are submitted again, with the same shares.
    let before = lines(1);
    let now = status(&cluster);
    assert_eq!(
        (&now["tasks"]["complete"], &now["seconds_left"]),
        (&2.into(), &serde_json::Value::Null),
        "{now}"
    );
    let (out, _) = cluster.superpose(folder, &submit);
    assert!(out.starts_with("Job ") && out.contains(": 2 tasks of 4, 1,3; script "), "{out}");
    until("the end of the second job", || cluster.is_empty());
    assert!(lines(1) > before && before > 0);
    let (out, _) = cluster.superpose(folder, &submit);
    assert_eq!(out, "Nothing is missing: nothing to submit.\n");
    let (out, _) = cluster.superpose(folder, &["status", "my sweep.toml"]);
    assert!(out.contains("400 cells: 400 done, 0 failed, 0 left\n4 tasks: 4 complete"), "{out}");

    cluster.superpose(folder, &merge);
    assert_eq!((1..=4).map(lines).sum::<usize>(), 400, "a cell was run twice, or not at all");
    let merged = rows(&folder.join("my sweep.sqlite"));
    assert_eq!(merged.len(), 400);
    assert!(merged == rows(&folder.join("local.sqlite")), "the store is not that of a local run");
}

/// A folder with a sweep of 20 cells and fake Slurm programs: `sbatch` counts jobs, the others print files.
struct Careless {
    folder: tempfile::TempDir,
}

impl Careless {
    fn new() -> Careless {
        let careless = Careless { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(careless.at("bin")).unwrap();
        careless.write("a.toml", &Careless::sweep(20));
        careless.program("sbatch", "echo x >> $HERE/jobs; wc -l < $HERE/jobs");
        careless.program("squeue", "cat $HERE/squeue 2>/dev/null || { echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1; }");
        careless.program("sacct", "cat $HERE/sacct 2>/dev/null");
        careless
    }

    fn sweep(repeats: usize) -> String {
        format!("vocab = 24\ndim = 12\nlength = 4\ntest_samples = 100\nsamples = 200\nrepeats = {repeats}\n")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).unwrap();
    }

    fn program(&self, name: &str, body: &str) {
        self.write(
            &format!("bin/{name}"),
            &format!("#!/bin/sh\nHERE='{}'\n{body}\n", self.folder.path().display()),
        );
        std::fs::set_permissions(self.at(&format!("bin/{name}")), std::fs::Permissions::from_mode(0o755))
            .unwrap();
    }

    fn run(&self, line: &str) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.at("bin").display());
        let words: Vec<&str> = line.split_whitespace().collect();
        superpose(self.folder.path(), &words).env("PATH", path).output().unwrap()
    }

    fn works(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        text(&output.stdout) + &text(&output.stderr)
    }

    fn refused(&self, line: &str, words: &[&str]) {
        let output = self.run(line);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {message}");
        assert!(message.contains("error: ") && !message.contains("panicked"), "{line}: {message}");
        for word in words {
            assert!(message.contains(word), "{line}: {word:?} is not in {message:?}");
        }
    }
}

#[test]
fn invalid_slurm_arguments_are_rejected() {
    let here = Careless::new();
    here.write("bad.toml", "dimension = 3\n");
    here.write("lines.txt", "threshold --find samples --store a.sqlite\n\nphase --x dim --store a.sqlite\n");
    for (line, words) in [
        ("submit slurm a.toml --tasks 0", vec!["tasks = 0", "from 1 to"]),
        ("submit slurm a.toml --tasks 1e9", vec!["tasks = 1000000000"]),
        ("submit slurm a.toml --tasks -3", vec!["--tasks"]),
        ("submit slurm a.toml", vec!["--tasks"]),
        ("submit slurm absent.toml --tasks 2", vec!["absent.toml"]),
        ("submit slurm bad.toml --tasks 2", vec!["bad.toml: line 1: unknown key dimension"]),
        ("submit slurm a.toml --tasks 2 --cpus 0", vec!["cpus = 0"]),
        ("submit slurm a.toml --tasks 2 --partition a\"b", vec!["partition = a\"b"]),
        ("submit slurm a.toml --tasks 2 --out 50%", vec!["50%", "percent"]),
        ("submit slurm a.toml --tasks 2 --out /proc/shards", vec!["/proc/shards"]),
        ("submit slurm a.toml --tasks 2 --store a.toml", vec!["a.toml", "not a store"]),
        ("submit slurm a.toml --tasks 2 -- --array=1-9", vec!["--array"]),
        ("submit slurm a.toml --tasks 2 -- -Ha5-9", vec!["-Ha5-9", "--array"]),
        ("submit slurm --lines lines.txt", vec!["lines.txt: line 3"]),
        ("submit slurm --reproduce huge", vec!["huge", "quick, standard, full"]),
        ("submit slurm --reproduce quick --seed 1e12", vec!["seed = 1000000000000", "from 0 to 100000000"]),
        ("submit slurm --reproduce quick --seed -1", vec!["'-1'", "--seed", "whole number"]),
        ("submit pbs a.toml", vec!["pbs"]),
        ("status absent.toml", vec!["absent.toml"]),
        ("status bin", vec!["bin: nothing was submitted"]),
    ] {
        here.refused(line, &words);
    }
    for (line, words) in [
        ("threshold --vocab 100", vec!["required arguments were not provided: --find <SIZE>"]),
        ("predict --device cuda", vec!["device = cuda:0: predict uses the CPU only"]),
        ("estimate --device auto", vec!["device = auto: estimate uses the CPU only"]),
    ] {
        here.write("line.txt", line);
        here.refused("submit slurm --lines line.txt", &[&["line.txt: line 1: "], &words[..]].concat());
    }
    assert!(!here.at("jobs").exists() && !here.at("a.slurm.sh").exists() && !here.at("a.shards").exists());
    here.program("sbatch", "echo 'sbatch: error: invalid partition specified: x' >&2; exit 1");
    here.refused("submit slurm a.toml --tasks 2 --partition x", &["sbatch refused: ", "invalid partition"]);
    here.program("sbatch", "echo hello");
    here.refused("submit slurm a.toml --tasks 2", &["no job number"]);
    // A submission that was killed before it recorded its job.
    here.write("a.shards/submitting", "");
    here.refused("submit slurm a.toml --tasks 2", &["another submission", "a.shards/submitting"]);
    std::fs::remove_file(here.at("a.shards/submitting")).unwrap();
    for program in ["sbatch", "squeue", "sacct"] {
        std::fs::remove_file(here.at("bin").join(program)).unwrap();
    }
    if !Path::new("/usr/bin/sbatch").exists() && !Path::new("/bin/sbatch").exists() {
        here.refused("submit slurm a.toml --tasks 2", &["sbatch cannot be started", "a.slurm.sh"]);
    }
    let out = here.works("status a.toml");
    assert!(
        out.contains("20 cells: 0 done, 0 failed, 20 left") && out.contains("superpose sweep a.toml"),
        "{out}"
    );
}

#[test]
fn slurm_resubmission_runs_only_missing_tasks() {
    let here = Careless::new();
    assert!(here.works("submit slurm a.toml --tasks 3 --time 1 --dry-run").contains("may never finish"));
    let out = here.works("submit slurm a.toml --tasks 3 --cpus 2 --time 10 --dry-run");
    assert!(!out.contains("may never finish"), "{out}");
    assert!(
        out.contains("--shard \"$SLURM_ARRAY_TASK_ID/3\" --threads 2") && !here.at("a.shards").exists(),
        "{out}"
    );
    let out = here.works("submit slurm a.toml --tasks 3 --device cuda --dry-run");
    assert!(out.contains("#SBATCH --gres=gpu:1\n") && out.contains(" --device cuda\n"), "{out}");
    let out = here.works("submit slurm a.toml --tasks 3 --device cuda --dry-run -- --gpus-per-task=h200:1");
    assert!(!out.contains("gres") && out.contains("#SBATCH --gpus-per-task=h200:1\n"), "{out}");
    here.refused("submit slurm a.toml --tasks 3 --device auto", &["device = auto", "must be cpu or cuda"]);
    assert!(here.works("submit slurm a.toml --tasks 3 --cpus 2").contains("Job 1: 3 tasks of 3, 1-3;"));
    here.write("squeue", "1|1|RUNNING\n1|2|PENDING\n1|3|PENDING\n");
    assert!(here.works("submit slurm a.toml --tasks 3").contains("3 tasks are in the queue already"));
    here.refused("submit slurm a.toml --tasks 4", &["3 tasks are still in the queue (job 1)", "scancel"]);
    here.refused("submit slurm a.toml --tasks 3 --device cuda", &["3 tasks are still in the queue (job 1)"]);
    here.works("sweep a.toml --shard 2/3");
    // sacct reports tasks that squeue no longer lists.
    here.write("squeue", "1|1|RUNNING\n");
    here.write("sacct", "1_1|RUNNING\n1_2|COMPLETED\n1_3|TIMEOUT\n1_3.batch|CANCELLED\n");
    let out = here.works("status a.toml");
    assert!(
        out.contains("3 tasks: 1 complete, 1 running, 0 waiting, 1 stopped (job 1)\n  TIMEOUT: 3\n"),
        "{out}"
    );
    assert!(out.contains("hint: continue with superpose submit slurm a.toml --tasks 3 --cpus 2\n"), "{out}");
    assert!(here.works("submit slurm a.toml --tasks 3").contains("Job 2: 1 task of 3, 3;"));
    std::fs::remove_file(here.at("squeue")).unwrap();

    // Another number of tasks or other cells give other shares, so finished cells must be merged first.
    here.refused("submit slurm a.toml --tasks 4", &["done in shards", "2-of-3.jsonl", "superpose merge "]);
    here.write("a.toml", &("seed = 1\n".to_owned() + &Careless::sweep(31)));
    assert!(here.works("status a.toml").contains("has changed since it was submitted"));
    here.refused("submit slurm a.toml --tasks 3", &["done in shards"]);
    here.works("merge --store a.sqlite");
    assert!(here.works("submit slurm a.toml --tasks 4").contains("Job 3: 4 tasks of 4, 1-4;"));
    for task in 1..=4 {
        here.works(&format!("sweep a.toml --shard {task}/4"));
    }
    assert!(here.works("submit slurm a.toml --tasks 4").contains("Nothing is missing"));
    let out = here.works("merge --store a.sqlite");
    assert!(out.contains("24 new cells"), "{out}");

    // With more tasks than cells, the other tasks have nothing to do.
    here.write("b.toml", &Careless::sweep(3));
    assert!(here.works("submit slurm b.toml --tasks 9 --store b.sqlite").contains("3 tasks of 9, 1-3;"));
    here.works("sweep b.toml --shard 1/9");
    here.write("b.shards/1-of-9.jsonl", "shopping list\n");
    here.refused("submit slurm b.toml --tasks 9", &["1-of-9.jsonl, line 1: not a record", "move it away"]);
    assert!(here.works("status b.toml").contains("1-of-9.jsonl, line 1: not a record"));
    here.program("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1");
    std::fs::remove_file(here.at("b.shards/1-of-9.jsonl")).unwrap();
    let words = ["Unable to contact", "A task that still runs (job 4) must not", "b.shards/slurm.json"];
    here.refused("submit slurm b.toml --tasks 9", &words);
    let out = here.works("status b.toml");
    assert!(out.contains("what is running is not known") && out.contains("0 stopped, 3 not known"), "{out}");
    assert!(!out.contains("continues"), "{out}");
    here.program("squeue", "echo garbage");
    here.refused("submit slurm b.toml --tasks 9", &["squeue printed \"garbage\""]);
    here.write("b.shards/slurm.json", "{");
    here.refused("status b.toml", &["slurm.json"]);
}

/// Every command line and every part of the study is a task, which is complete when it has output.
#[test]
fn slurm_runs_command_lines_and_the_study() {
    let here = Careless::new();
    here.write(
        "rays.txt",
        "# two rays\nrun --vocab 24 --dim 12 --samples 200 --json\nrun --vocab 24 --dim 16 --samples 200 --json\n",
    );
    assert!(here.works("submit slurm --lines rays.txt --cpus 2").contains("Job 1: 2 tasks of 2, 1-2;"));
    let script = std::fs::read_to_string(here.at("rays.slurm.sh")).unwrap();
    assert!(
        script.contains("2) set -- run --vocab 24 --dim 16 --samples 200 --json --threads 2 ;;"),
        "{script}"
    );
    let task = |id: &str| {
        Command::new("bash")
            .arg(here.at("rays.slurm.sh"))
            .env("SLURM_ARRAY_TASK_ID", id)
            .status()
            .unwrap()
            .success()
    };
    assert!(task("2"));
    assert!(!here.at("rays.out/2.out.part").exists());
    let output = std::fs::read_to_string(here.at("rays.out/2.out")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&output).unwrap()["config"]["dim"], 16);
    assert!(here.works("status rays.out").contains("2 tasks: 1 complete, 0 running, 0 waiting, 1 stopped"));
    assert!(here.works("submit slurm --lines rays.txt").contains("Job 2: 1 task of 2, 1;"));
    // A line may use a GPU, which a flag of sbatch requests.
    for (line, flags, hinted) in [
        ("run --device cuda", "", true),
        ("run --vocab 24 --device=auto", "", true),
        ("run --device cuda", " -- --gres=gpu:1", false),
        ("run --device cuda", " -- -G1", false),
        ("run --device cuda", " -- --partition=gpu", true),
        ("run --device cpu", "", false),
    ] {
        here.write("gpu.txt", line);
        let said = here.works(&format!("submit slurm --lines gpu.txt --dry-run{flags}"));
        assert_eq!(said.contains("hint: some lines have --device"), hinted, "{line}{flags}: {said}");
    }
    // A failed line leaves no output; a sweep among the lines runs all of its cells.
    here.write("more.txt", "run --vocab 24 --import absent --json\nsweep a.toml\n");
    here.works("submit slurm --lines more.txt");
    let task = |id: &str| {
        let script = here.at("more.slurm.sh");
        let mut bash = Command::new("bash");
        bash.arg(script).env("SLURM_ARRAY_TASK_ID", id).env("SLURM_ARRAY_TASK_COUNT", "2");
        bash.output().unwrap().status.success()
    };
    assert!(!task("1") && task("2"));
    assert!(!here.at("more.out/1.out").exists());
    let out = std::fs::read_to_string(here.at("more.out/2.out")).unwrap();
    assert!(out.contains("20 cells in ") && here.at("a.sqlite").exists(), "{out}");
    for lines in [
        "run --export x\nrun --export ./x\n",
        "sweep a.toml\nthreshold --find dim --store a.sqlite\n",
        "reproduce\nreproduce --seed 2\n",
        "sweep a.toml --out b --shard 1/2\nsweep a.toml --out ./b --shard 1/2\n",
    ] {
        here.write("twice.txt", lines);
        here.refused("submit slurm --lines twice.txt", &["line 2", "also written by line 1"]);
    }
    // Shards are files of their own and only read the store.
    let shares = "sweep a.toml --store a.sqlite --shard 1/2\nsweep a.toml --store a.sqlite --shard 2/2\n";
    here.write("shares.txt", shares);
    here.works("submit slurm --lines shares.txt --dry-run");
    here.write("rays.txt", "run --vocab 25 --json\n");
    here.write("rays.out/1.out", "{}");
    here.refused("submit slurm --lines rays.txt", &["rays.out", "other command lines"]);

    assert!(here.works("submit slurm --reproduce full --out study").contains("10 tasks of 10, 1-10;"));
    let script = std::fs::read_to_string(here.at("study/study.slurm.sh")).unwrap();
    assert!(script.contains("reproduce --scale full --seed 0 --only scaling --out "), "{script}");
    here.refused("reproduce --gather study", &["no part of a study"]);
    let manifest = |seed: u64| {
        format!(
            r#"{{"version":"0.1.0","numerics_revision":1,"scale":"full","seed":{seed},"command":"","machine":{{"processor":"","cores":2,"system":""}},"seconds":{{}},"runs":{{}}}}"#
        )
    };
    for (part, seed) in [("scaling", 0), ("sizes", 1)] {
        std::fs::create_dir(here.at("study").join(part)).unwrap();
        here.write(&format!("study/{part}/study.json"), "{}");
        here.write(&format!("study/{part}/manifest.json"), &manifest(seed));
    }
    here.refused("reproduce --gather study", &["study/sizes", "another scale, seed"]);
    here.write("study/sizes/manifest.json", &manifest(0));
    let out = here.works("reproduce --gather study");
    assert!(
        out.contains("not finished: scaling, sizes, orthogonal, phase") && out.contains("report.html"),
        "{out}"
    );
    assert!(here.at("study/report.html").exists() && here.at("study/store.sqlite").exists());
    assert!(out.contains("study/sizes/store.sqlite does not exist"), "{out}");
    // After an early gathering, the rest can still be submitted; a folder with another study is not changed.
    assert!(here.works("submit slurm --reproduce full --out study").contains("10 tasks of 10, 1-10;"));
    std::fs::remove_file(here.at("study/slurm.json")).unwrap();
    here.refused("submit slurm --reproduce full --out study", &["holds a study already"]);
    // The command in the report can be pasted into a shell.
    std::fs::rename(here.at("study"), here.at("study(1)")).unwrap();
    here.works("reproduce --gather study(1)");
    let manifest = std::fs::read_to_string(here.at("study(1)/manifest.json")).unwrap();
    assert!(manifest.contains("superpose reproduce --gather 'study(1)'"), "{manifest}");
}
