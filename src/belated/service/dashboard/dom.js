// Elements. What users named becomes text and never markup: nothing here parses HTML.

const SVG = document.querySelector('svg').namespaceURI;

function at(id) {
  return document.getElementById(id);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function shape(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

// Writes only what is new, so that a selection survives a refresh.
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function show(node, on) {
  if (node.hidden === on) node.hidden = !on;
}

function describe(node, text) {
  if (node.getAttribute('aria-label') !== text) node.setAttribute('aria-label', text);
}

// Puts rows in place of others; whoever had the focus has it again, by its data-key.
function replaceRows(place, rows) {
  const focused = place.contains(document.activeElement) && document.activeElement.dataset.key;
  place.replaceChildren(...rows);
  if (!focused) return;
  const again = [...place.querySelectorAll('[data-key]')].find(one => one.dataset.key === focused);
  if (again) again.focus({preventScroll: true});
}

function button(text, key, act, attributes = {}) {
  const made = make('button', {type: 'button', class: 'small', 'data-key': key, ...attributes}, text);
  made.addEventListener('click', act);
  return made;
}
