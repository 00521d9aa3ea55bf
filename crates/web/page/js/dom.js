// Making elements. `h('p', {class: 'note'}, 'text', child)` is HTML, `s` the same for SVG.
// Attributes that begin with `on` are listeners; `style` is an object, since the page allows no style attributes.

const SVG = 'http://www.w3.org/2000/svg';

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [key, text] of Object.entries(value)) node.style.setProperty(key, text);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...present(children));
  return node;
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** An HTML element. */
export const h = (name, attributes = {}, ...children) => build(document.createElement(name), attributes, children);

/** An SVG element. */
export const s = (name, attributes = {}, ...children) =>
  build(document.createElementNS(SVG, name), attributes, children);

/** Text of a report, in which `^{...}` and `^2` are raised. */
export function raised(text) {
  return text.split(/\^(?:\{([^}]*)\}|(-?[0-9](?:[0-9.]*[0-9])?))/).map((part, index) =>
    (index % 3 === 0 || part === undefined ? part : h('sup', {}, part.replace('-', '−'))));
}

/** Puts children in the place of what a node has. What had the focus keeps it, by its id. */
export function fill(node, ...children) {
  const focused = node.contains(document.activeElement) ? document.activeElement.id : '';
  node.replaceChildren(...present(children));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  return node;
}

/** The element with an id. */
export const $ = (id) => document.getElementById(id);

/** Changes a node's text only where it differs, so that screen readers do not hear it again. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
