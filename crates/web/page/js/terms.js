// Words and symbols explained where they stand. Each is a button: its note shows on pointing, on focus and on touch, and
// goes with Escape. `term('lock_rate')` makes one; in the HTML, `<span data-term="lock_rate">` becomes one.

import { h, $ } from './dom.js';
import { title, words } from './format.js';

/** Plain names of what the programs call otherwise; the technical name begins the note. */
export const PLAIN = {
  accuracy: 'recall',
  memory_accuracy: 'recall with perfect attention',
  lock_rate: 'finds the right token',
  early_rule: 'rule of memory steps',
  kept_rate: 'keeps the right token',
  one_step_accuracy: 'recall after step 1',
  mean_bias: 'common facts drown rare ones',
  interference: 'facts overlap: too few dimensions',
  gradient_noise: 'chance in the samples',
  output_overlap: 'labels overlap',
  mlp_noise: 'the MLP is too narrow',
  attention_leak: 'other tokens leak in',
  coverage: 'facts never shown',
};

/** The name of what limits recall: the term, and where it is when that is not the memory. */
export const nameOf = ({ part, term }) => (part === 'memory' ? PLAIN[term] : `attention: ${PLAIN[term]}`);

export const TERMS = {
  vocab: ['V', 'Vocabulary: the number of tokens. Each stands for one fact, so V facts are to be stored.'],
  dim: ['d', 'Dimension of the embeddings. Below V the vectors overlap, by about 1 / √d.'],
  length: ['L', 'Length: tokens in a sequence. One of them matters; a trigger marks it.'],
  samples: ['N', 'Samples: training sequences, drawn once and used in every step.'],
  width: ['m', 'Width of the MLP: its number of hidden units. Without one, the model is attention alone.'],
  parameters: ['m d', 'Trained parameters of the value matrix with an MLP: width times dimension.'],
  activation: [null, 'The function inside the MLP. he2 is the second Hermite polynomial: no constant and no linear part.'],
  embedding: [null, 'How the fixed random vectors of tokens are drawn. Orthonormal vectors do not overlap, but need d of at least V + 2.'],
  trigger: [null, 'Where the trigger is added: in keys and values, as in a transformer, or in the keys alone.'],
  early_rule: [null, 'Rule of the two memory steps: the plain gradient, its signs (Adam’s first step), its polar factor (Muon) or Newton’s step. The map is for the gradient; the others are trained.'],
  rounds: ['r', 'Rounds: how often the attention step and the memory step after it are repeated. The map is for one round; more are trained.'],
  accuracy: [null, 'Recall: the share of fresh sequences for which the largest logit is the right label’s.'],
  memory_accuracy: [null, 'Recall with the attention placed on the right token: what the memory alone can do.'],
  lock_rate: [null, 'How often the largest attention weight is on the token that matters.'],
  keep: ['k', 'Tokens kept at test, those with the largest attention scores, as in a key-value cache with a budget. Empty: all L.'],
  kept_rate: [null, 'How often the token that matters is among the kept ones. It is 1 where all are kept.'],
  one_step_accuracy: [null, 'Recall from the first gradient alone, before the attention has learned anything.'],
  critical: [null, 'How far one size must go, the others staying, for recall to reach the chosen accuracy.'],
  signal: [null, 'What the right label’s logit gets from its own fact.'],
  mean_bias: [null, 'All keys have something in common. Facts that the samples happen to show more often pull on every answer through it. More samples help.'],
  interference: [null, 'Keys overlap, so other facts answer too, however many samples there are. More dimensions help.'],
  gradient_noise: [null, 'Some facts are seen more often than others, and keys overlap: chance in the samples.'],
  output_overlap: [null, 'The signal seen through overlaps: the right fact by wrong labels, the trigger by other tokens.'],
  mlp_noise: [null, 'The MLP’s first layer is random and only so wide. More width helps.'],
  attention_leak: [null, 'What the attention lets in from the other tokens of the sequence.'],
  coverage: [null, 'Facts that no sample shows cannot be learned.'],
  logits: [null, 'The model’s scores of labels. Noise here means a wrong label may win.'],
  scores: [null, 'The attention’s scores of tokens. Noise here means the wrong token may be looked at.'],
  margin: [null, 'The right label’s logit minus the largest other one. Above zero the answer is right.'],
  error: [null, 'How far the closed form is usually off: root mean square of predicted minus simulated recall, over many models of checked sizes, without the spread between seeds. It is not a bound or an interval. A single training differs from the mean by more than this: train several seeds to see by how much.'],
  interval: [null, '95% interval of the mean: about 95 of 100 made like this hold the true value. It counts the differences between seeds (Student’s t) and the finite number of test sequences (Wilson); with one repeat the latter alone.'],
  repeats: [null, 'Training runs with different seeds. More of them make the interval narrower and more reliable.'],
  seed: [null, 'The same seed gives the same numbers, bit by bit.'],
  foreign: [null, 'A run with settings for which the page has no control, such as Zipf tokens or exact steps. No map here is of its kind. Point at it to see which settings.'],
  boundary: [null, 'The thick line on the map: predicted recall crosses this value there. Thin lines are at 0.1, 0.5 and 0.9.'],
  unchecked: [null, 'The pale part of the map, beyond the dotted line: no simulation has checked the formulas at these sizes.'],
  conditions: [null, 'Conditions to leading order: simple formulas that must hold for recall to work when all sizes are large.'],
  effective_dimension: [null, 'One over the mean square cosine of two rows: the dimension at which Gaussian vectors would overlap as much.'],
};

let serial = 0;

/** A word or symbol with its note. */
export function term(name, shown = PLAIN[name] ?? words(name)) {
  const [symbol, note] = TERMS[name];
  const heading = symbol && symbol !== shown ? `${symbol}. ` : shown.toLowerCase().includes(words(name)) || !PLAIN[name] ? '' : `${title(words(name))}. `;
  const id = `term-${++serial}`;
  return h('span', { class: 'term' },
    h('button', { type: 'button', class: 'term-word', 'aria-describedby': id, 'data-note': heading + note }, shown),
    h('span', { id, hidden: true }, heading + note));
}

function place(tip, word) {
  const box = word.getBoundingClientRect();
  const edge = 8;
  const left = Math.min(Math.max(box.left, edge), innerWidth - tip.offsetWidth - edge);
  const under = box.bottom + 6;
  const top = under + tip.offsetHeight > innerHeight ? box.top - tip.offsetHeight - 6 : under;
  tip.style.setProperty('left', `${left}px`);
  tip.style.setProperty('top', `${top}px`);
}

/** Turns the marked words of the HTML into terms, and shows notes from now on. */
export function explainTerms() {
  for (const span of document.querySelectorAll('[data-term]')) span.replaceWith(term(span.dataset.term, span.textContent));
  const tip = $('tip');
  let word = null;
  const hide = () => { tip.hidden = true; };
  const at = ({ clientX, clientY }) => `${clientX} ${clientY}`;
  let clicked = null;
  const show = (event) => {
    // After a click the layout may move under a pointer that rests: that is no pointing.
    if (event.type === 'pointerover' && at(event) === clicked) return hide();
    clicked = event.type === 'click' ? at(event) : null;
    word = event.target.closest?.('[data-note]');
    if (!word) return hide();
    tip.textContent = word.dataset.note;
    tip.hidden = false;
    place(tip, word);
  };
  document.addEventListener('pointerover', show);
  document.addEventListener('focusin', show);
  document.addEventListener('focusout', hide);
  document.addEventListener('click', show);
  document.addEventListener('keydown', (event) => { if (event.key === 'Escape') hide(); });
  addEventListener('scroll', () => { if (!tip.hidden) place(tip, word); }, { passive: true });
}
