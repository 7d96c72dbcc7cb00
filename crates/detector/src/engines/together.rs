//! Answering one request for several recipients.

use super::{Engines, Job, Part};
use crate::engine::{Answer, Loaded};
use crate::runs::runs;
use crate::{DetectorError, Progress, Stages, Watching};
use omr_protocol::{Response, Scheme};
use std::sync::Arc;

/// The results of a request for several recipients.
pub struct Answers {
    /// The answer for each recipient, in order, with the seconds of all work that contributed to it.
    pub answers: Vec<Result<Answer, DetectorError>>,
    /// Seconds of each stage. Work that several recipients share counts once.
    pub stages: Stages,
}

/// Answers a request by a scheme for several recipients. If their keys [share work](Loaded::is_answered_with), one run
/// makes their digests with one placement; it stops once the progress objects of all of them ask it to. All other work
/// is done for one recipient after another.
///
/// Errors: those of a run for several recipients, which concern all of them. Errors that concern one recipient, as in
/// [`Engines::respond`], are in the recipient's place in the answers.
pub fn respond_together(
    recipients: &[(&Engines, &dyn Progress)],
    scheme: Scheme,
    mut job: Job,
) -> Result<Answers, DetectorError> {
    let mut stages = Stages::default();
    let begin = |(engines, progress): &(&Engines, _)| Recipient {
        parts: engines.checked_parts(scheme, &job),
        answers: Vec::new(),
        progress: *progress,
    };
    let mut all: Vec<Recipient> = recipients.iter().map(begin).collect();
    let parts = all.iter().map(|one| one.parts.as_ref().map_or(0, Vec::len));
    for number in 0..parts.max().unwrap_or(0) {
        for group in groups(&all, number) {
            answer(&mut all, &group, number, &mut job, &mut stages)?;
        }
    }
    Ok(Answers {
        answers: all.into_iter().map(Recipient::answer).collect(),
        stages,
    })
}

/// A recipient with the parts of the request and the answers so far.
struct Recipient<'a> {
    /// The parts, or the error that prevents an answer.
    parts: Result<Vec<Part>, DetectorError>,
    answers: Vec<Answer>,
    progress: &'a dyn Progress,
}

impl Recipient<'_> {
    fn part(&self, number: usize) -> Option<&Part> {
        self.parts.as_ref().ok()?.get(number)
    }

    fn answer(self) -> Result<Answer, DetectorError> {
        self.parts?;
        let (mut stages, mut unusable_clues) = (Stages::default(), 0);
        let mut responses = Vec::new();
        for answer in self.answers {
            stages.add(&answer.stages);
            unusable_clues += answer.unusable_clues;
            responses.push(answer.response);
        }
        Ok(Answer {
            response: Response::joined(responses).expect("the digests of a scheme's engines"),
            stages,
            unusable_clues,
        })
    }
}

/// Returns the places of the recipients that have the part `number`, by the runs that their keys share.
fn groups(all: &[Recipient], number: usize) -> Vec<Vec<usize>> {
    let place = |i: usize| Some((i, &all[i].part(number)?.0));
    let with_part: Vec<(usize, &Arc<dyn Loaded>)> = (0..all.len()).filter_map(place).collect();
    let shared = runs(&with_part, |(_, first), (_, other)| {
        first.is_answered_with(&***other)
    });
    let places = |run: Vec<usize>| run.into_iter().map(|i| with_part[i].0).collect();
    shared.into_iter().map(places).collect()
}

/// Answers a part for the recipients of a group.
///
/// Errors: those of a run for several recipients.
fn answer(
    all: &mut [Recipient],
    group: &[usize],
    number: usize,
    job: &mut Job,
    stages: &mut Stages,
) -> Result<(), DetectorError> {
    let parts = group.iter().filter_map(|&i| all[i].part(number));
    let mut keys: Vec<Arc<dyn Loaded>> = parts.map(|(key, _)| key.clone()).collect();
    let Some((_, request)) = group.first().and_then(|&i| all[i].part(number)) else {
        return Ok(());
    };
    let first = keys.remove(0);
    let task = job.task(first.kind(), request.clone());
    let watching = Watching(group.iter().map(|&i| all[i].progress).collect());
    let made = if keys.is_empty() {
        first.answer(task, &watching).map(|one| vec![one])
    } else {
        first.answer_together(&keys, task, &watching)
    };
    match made {
        Ok(answers) => {
            // Each answer has the seconds of the whole run.
            stages.add(&answers[0].stages);
            for (&i, answer) in group.iter().zip(answers) {
                all[i].answers.push(answer);
            }
        }
        Err(DetectorError::Stopped) => {
            let stopped = |&i: &usize| all[i].parts = Err(DetectorError::Stopped);
            group.iter().for_each(stopped);
        }
        Err(error) => match group {
            [one] => all[*one].parts = Err(error),
            _ => return Err(error),
        },
    }
    Ok(())
}
