//! The state of submitted tasks: from `squeue` for the last minutes, from `sacct` for earlier ones. Either may be missing.

use std::collections::BTreeMap;
use std::process::Command;

use super::Job;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// On a machine.
    Running,
    /// In the queue.
    Waiting,
    /// Ended, in this state of Slurm's.
    Ended(String),
}

impl State {
    fn parse(word: &str) -> State {
        // sacct appends who cancelled the task.
        match word.split([' ', '+']).next().unwrap_or_default() {
            "RUNNING" | "COMPLETING" | "CONFIGURING" | "SUSPENDED" | "STOPPED" | "RESIZING" | "SIGNALING"
            | "STAGE_OUT" => State::Running,
            "PENDING" | "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "RESV_DEL_HOLD" | "SPECIAL_EXIT" => {
                State::Waiting
            }
            ended => State::Ended(ended.into()),
        }
    }

    /// Whether the task may still write.
    pub fn is_active(&self) -> bool {
        !matches!(self, State::Ended(_))
    }
}

#[derive(Debug, Default)]
pub struct Queue {
    /// The latest state of every task that Slurm still knows.
    pub tasks: BTreeMap<usize, State>,
    /// Whether squeue answered, so that a task it does not list has ended.
    pub complete: bool,
    /// What could not be determined.
    pub notes: Vec<String>,
}

impl Queue {
    /// Asks Slurm about these jobs, the latest last.
    pub fn ask(jobs: &[Job]) -> Queue {
        let mut queue = Queue { complete: true, ..Queue::default() };
        for job in jobs {
            let mut states = BTreeMap::new();
            match ask("sacct", &["--noheader", "--parsable2", "--allocations", "--format=JobID,State"], job) {
                Ok(text) => states.extend(text.lines().filter_map(|line| accounted(line, &job.id)).flatten()),
                Err(why) => queue.note(format!("{why}; how tasks ended is known for the last minutes only")),
            }
            // Not with --array: some versions then omit the last task of an array with a stride.
            let now = ask("squeue", &["--noheader", "--states=all", "--format=%F|%K|%T"], job);
            match now.and_then(|text| all_queued(&text, &job.id)) {
                Ok(now) => queue.learn(states, now),
                // squeue forgets a job a few minutes after its end.
                Err(why) if why.contains("Invalid job id") => queue.learn(states, Vec::new()),
                Err(why) => {
                    queue.complete = false;
                    queue.note(format!("{why}; what is running is not known"));
                    queue.tasks.extend(states.into_iter().filter(|(_, state)| !state.is_active()));
                }
            }
        }
        queue
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds the tasks of one job. squeue overrides sacct, because its states are more recent.
    fn learn(&mut self, mut states: BTreeMap<usize, State>, now: Vec<(usize, State)>) {
        for state in states.values_mut().filter(|state| state.is_active()) {
            *state = State::Ended("UNKNOWN".into());
        }
        states.extend(now);
        for (task, state) in states {
            // A task of an earlier job that still runs overrides a later one that has ended.
            if state.is_active() || !self.tasks.get(&task).is_some_and(State::is_active) {
                self.tasks.insert(task, state);
            }
        }
    }
}

/// Runs a Slurm command and returns its output; the error is a sentence.
fn ask(program: &str, arguments: &[&str], job: &Job) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).arg(format!("--jobs={}", job.id));
    // The user's own filters would hide tasks, and a long list of tasks would be truncated.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("SQUEUE_") || name.starts_with("SACCT_")) {
            command.env_remove(name);
        }
    }
    command.env("SLURM_BITSTR_LEN", "0");
    if let Some(cluster) = &job.cluster {
        command.arg(format!("--clusters={cluster}"));
    }
    let output = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("{program} is not on this machine"),
        _ => format!("{program} cannot be started: {error}"),
    })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{program} failed: {}", first_line(&output.stderr))),
    }
}

/// Returns the first line that is not blank.
pub fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
    line.trim().chars().filter(|c| !c.is_control()).take(300).collect()
}

/// Parses every line of squeue. An unreadable line may be a running task, so it is an error.
fn all_queued(text: &str, id: &str) -> Result<Vec<(usize, State)>, String> {
    let mut all = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("CLUSTER:")) {
        let unreadable = || format!("squeue printed {:?}", first_line(line.as_bytes()));
        all.extend(queued(line, id).ok_or_else(unreadable)?);
    }
    Ok(all)
}

/// Parses `123|4|RUNNING` or `123|5-9:2,12|PENDING`; lines of other jobs give nothing.
fn queued(line: &str, id: &str) -> Option<Vec<(usize, State)>> {
    let mut words = line.split('|');
    let (job, tasks, state) = (words.next()?, words.next()?, words.next()?);
    match job == id {
        true => Some(expand(tasks)?.into_iter().map(|task| (task, State::parse(state))).collect()),
        false => Some(Vec::new()),
    }
}

/// Parses `123_4|COMPLETED` or `123_[5-7]|PENDING`; lines of whole jobs or of steps of a task give nothing.
fn accounted(line: &str, id: &str) -> Option<Vec<(usize, State)>> {
    let (job, state) = line.trim().split_once('|')?;
    let tasks = expand(job.strip_prefix(id)?.strip_prefix('_')?)?;
    Some(tasks.into_iter().map(|task| (task, State::parse(state))).collect())
}

/// Maximum size of a Slurm array.
const MAX_TASKS: usize = 4_000_001;

/// Parses tasks as Slurm writes them: `4`, `1-3,7`, `[1-21:2%8]`.
fn expand(text: &str) -> Option<Vec<usize>> {
    let text = text.trim_start_matches('[').trim_end_matches(']');
    let text = text.split('%').next()?;
    let mut tasks = Vec::new();
    for piece in text.split(',') {
        let (range, step) = piece.split_once(':').unwrap_or((piece, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last, step): (usize, usize, usize) =
            (first.parse().ok()?, last.parse().ok()?, step.parse().ok()?);
        if first > last || last > MAX_TASKS || step == 0 {
            return None;
        }
        tasks.extend((first..=last).step_by(step));
    }
    Some(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_slurm_is_parsed() {
        let ended = |word: &str| State::Ended(word.into());
        let lines = "CLUSTER: north\n12|3|RUNNING\n12|4|TIMEOUT\n13|3|RUNNING\n\n12|5-9:2|PENDING\n";
        let waiting = [5, 7, 9].map(|task| (task, State::Waiting));
        let all = [[(3, State::Running), (4, ended("TIMEOUT"))].as_slice(), &waiting].concat();
        assert_eq!(all_queued(lines, "12"), Ok(all));
        assert!(all_queued("garbage", "12").is_err() && all_queued("12|N/A|RUNNING", "12").is_err());
        assert_eq!(expand("[1-3,7%2]"), Some(vec![1, 2, 3, 7]));
        assert!(expand("9-1").is_none() && expand("1-9:0").is_none() && expand("1-99999999999").is_none());
        assert_eq!(accounted("12_4|CANCELLED by 0", "12"), Some(vec![(4, ended("CANCELLED"))]));
        let waiting = [5, 6].map(|task| (task, State::Waiting));
        assert_eq!(accounted("12_[5-6]|PENDING", "12"), Some(waiting.to_vec()));
        assert!(accounted("12|COMPLETED", "12").is_none() && accounted("12_4.batch|FAILED", "12").is_none());
        let mut queue = Queue::default();
        queue.learn(BTreeMap::from([(3, State::Running)]), vec![(1, State::Running), (2, ended("FAILED"))]);
        queue.learn(
            BTreeMap::from([(2, ended("FAILED"))]),
            vec![(1, ended("COMPLETED")), (2, State::Waiting)],
        );
        let states: Vec<State> = queue.tasks.into_values().collect();
        assert_eq!(states, [State::Running, State::Waiting, ended("UNKNOWN")]);
    }
}
