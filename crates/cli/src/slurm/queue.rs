//! What the queue says of submitted tasks: `squeue` for now and the last minutes, `sacct` for long ago. Either may be missing.

use std::collections::BTreeMap;
use std::process::Command;

use super::Job;

/// What has become of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// On a machine.
    Running,
    /// In the queue.
    Waiting,
    /// Over, in Slurm's word for how.
    Ended(String),
}

impl State {
    fn parse(word: &str) -> State {
        // sacct says who cancelled it.
        match word.split([' ', '+']).next().unwrap_or_default() {
            "RUNNING" | "COMPLETING" | "CONFIGURING" | "SUSPENDED" | "STOPPED" | "RESIZING" | "SIGNALING"
            | "STAGE_OUT" => State::Running,
            "PENDING" | "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "RESV_DEL_HOLD" | "SPECIAL_EXIT" => {
                State::Waiting
            }
            ended => State::Ended(ended.into()),
        }
    }

    /// Whether it may still write.
    pub fn is_active(&self) -> bool {
        !matches!(self, State::Ended(_))
    }
}

/// What the queue says.
#[derive(Debug, Default)]
pub struct Queue {
    /// The last state of every task that Slurm remembers.
    pub tasks: BTreeMap<usize, State>,
    /// Whether squeue answered, so that tasks that are not there are over.
    pub complete: bool,
    /// What could not be found out.
    pub notes: Vec<String>,
}

impl Queue {
    /// Asks for these jobs, given with the latest last.
    pub fn ask(jobs: &[Job]) -> Queue {
        let mut queue = Queue { complete: true, ..Queue::default() };
        for job in jobs {
            let mut states = BTreeMap::new();
            match ask("sacct", &["--noheader", "--parsable2", "--allocations", "--format=JobID,State"], job) {
                Ok(text) => states.extend(text.lines().filter_map(|line| accounted(line, &job.id))),
                Err(why) => queue.note(format!("{why}; how tasks ended is known for some minutes only")),
            }
            let now = ask("squeue", &["--noheader", "--array", "--states=all", "--format=%F|%K|%T"], job);
            match now {
                Ok(text) => queue.learn(states, text.lines().filter_map(|line| queued(line, &job.id))),
                // Slurm forgets jobs a few minutes after their end.
                Err(why) if why.contains("Invalid job id") => queue.learn(states, std::iter::empty()),
                Err(why) => {
                    queue.complete = false;
                    queue.note(format!("{why}; what is running is not known"));
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

    /// Takes up one job: what the accounts say, and what squeue says, which knows better what is there now.
    fn learn(&mut self, mut states: BTreeMap<usize, State>, now: impl Iterator<Item = (usize, State)>) {
        for state in states.values_mut().filter(|state| state.is_active()) {
            *state = State::Ended("UNKNOWN".into());
        }
        states.extend(now);
        for (task, state) in states {
            // A task of an earlier job that still runs is what counts.
            if state.is_active() || !self.tasks.get(&task).is_some_and(State::is_active) {
                self.tasks.insert(task, state);
            }
        }
    }
}

/// Runs a command of Slurm; the error is a sentence.
fn ask(program: &str, arguments: &[&str], job: &Job) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).arg(format!("--jobs={}", job.id));
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

/// The first line that says something.
pub fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
    line.trim().chars().filter(|c| !c.is_control()).take(300).collect()
}

/// `123|4|RUNNING`
fn queued(line: &str, id: &str) -> Option<(usize, State)> {
    let mut words = line.trim().split('|');
    let (job, task, state) = (words.next()?, words.next()?, words.next()?);
    (job == id).then_some(())?;
    Some((task.parse().ok()?, State::parse(state)))
}

/// `123_4|COMPLETED`
fn accounted(line: &str, id: &str) -> Option<(usize, State)> {
    let (job, state) = line.trim().split_once('|')?;
    let task = job.strip_prefix(id)?.strip_prefix('_')?;
    Some((task.parse().ok()?, State::parse(state)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_slurm() {
        assert_eq!(queued("12|3|RUNNING", "12"), Some((3, State::Running)));
        assert_eq!(queued("12|3|TIMEOUT", "12"), Some((3, State::Ended("TIMEOUT".into()))));
        assert_eq!(queued("13|3|RUNNING", "12"), None);
        assert_eq!(queued("CLUSTER: north", "12"), None);
        assert_eq!(accounted("12_4|CANCELLED by 0", "12"), Some((4, State::Ended("CANCELLED".into()))));
        assert_eq!(accounted("12_[5-7]|PENDING", "12"), None);
        assert_eq!(accounted("12|COMPLETED", "12"), None);
        let ended = |word: &str| State::Ended(word.into());
        let mut queue = Queue::default();
        queue.learn(
            BTreeMap::from([(3, State::Running)]),
            [(1, State::Running), (2, ended("FAILED"))].into_iter(),
        );
        queue.learn(
            BTreeMap::from([(2, ended("FAILED"))]),
            [(1, ended("COMPLETED")), (2, State::Waiting)].into_iter(),
        );
        let states: Vec<State> = queue.tasks.into_values().collect();
        assert_eq!(states, [State::Running, State::Waiting, ended("UNKNOWN")]);
    }
}
