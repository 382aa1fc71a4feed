// Elements. Names given by users become text nodes: nothing here parses HTML.

const SVG = document.querySelector('svg').namespaceURI;

function byId(id) {
  return document.getElementById(id);
}

function populate(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function element(tag, attributes = {}, ...children) {
  return populate(document.createElement(tag), attributes, children);
}

function svgElement(tag, attributes = {}, ...children) {
  return populate(document.createElementNS(SVG, tag), attributes, children);
}

// Writes only changed text, so that a selection survives a refresh.
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setVisible(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}

function setAriaLabel(node, text) {
  if (node.getAttribute('aria-label') !== text) node.setAttribute('aria-label', text);
}

// Replaces rows and restores the focus by data-key.
function replaceRows(container, rows) {
  const focused = container.contains(document.activeElement) && document.activeElement.dataset.key;
  container.replaceChildren(...rows);
  if (!focused) return;
  const restored = [...container.querySelectorAll('[data-key]')]
    .find(node => node.dataset.key === focused);
  if (restored) restored.focus({preventScroll: true});
}

function makeButton(text, key, onClick, attributes = {}) {
  const all = {type: 'button', class: 'small', 'data-key': key, ...attributes};
  const node = element('button', all, text);
  node.addEventListener('click', onClick);
  return node;
}
