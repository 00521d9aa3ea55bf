// Files that the page makes: a menu of formats, and text for the clipboard.

import { h, say, $ } from './dom.js';

/** Gives the reader a file. */
export function save(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = h('a', { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Makes a button copy what `text` gives, and say so on itself. */
export function copies(button, text, what) {
  const usual = button.textContent;
  let timer = 0;
  button.addEventListener('click', async () => {
    const given = text();
    const copied = await navigator.clipboard.writeText(given).then(() => true, () => false);
    say($('copied'), copied ? `${what} copied.` : `${what}: ${given}`);
    say(button, copied ? 'Copied ✓' : 'Not copied');
    clearTimeout(timer);
    timer = setTimeout(() => {
      say($('copied'), '');
      say(button, usual);
    }, 2500);
  });
}

/** Rows of values as CSV. */
export function csv(columns, rows) {
  const field = (value) => {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(field).join(',')).join('\n') + '\n';
}

/** A row of buttons, one for each format; `formats` are names and what each does. */
export const formats = (label, all) => h('div', { class: 'formats', role: 'group', 'aria-label': label }, h('span', {}, label),
  Object.entries(all).map(([name, act]) => h('button', { type: 'button', class: 'small', 'data-format': name, onclick: act }, name)));

/** A picture of an SVG as PNG, with two pixels per pixel. */
export async function png(svg) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  await image.decode();
  const canvas = h('canvas', { width: 2 * image.naturalWidth, height: 2 * image.naturalHeight });
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => canvas.toBlob(done, 'image/png'));
}
