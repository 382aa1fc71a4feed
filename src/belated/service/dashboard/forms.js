// Gates: a token where the service asks for one, a name where it does not list its problems.

const MADE = 'Paste one with the scope ‘read’; ‘belated token create --scope read’ makes it.';
const ODD = 'That is no token: it has a character that none has. Was all of it copied, and nothing else?';

class Gate {
  constructor(passed) {
    at('token-form').addEventListener('submit', event => {
      event.preventDefault();
      this.odd = !keepToken(at('token').value.trim());
      at('token').value = '';
      if (this.odd) {
        say(at('token-why'), ODD);
        return;
      }
      this.asked = false;
      passed();
    });
    at('name-form').addEventListener('submit', event => {
      event.preventDefault();
      location.hash = encodeURIComponent(at('name').value.trim());
    });
    at('token-change').addEventListener('click', () => {
      this.asked = true;
      this.odd = false;
      this.show('token-form');
      say(at('token-why'), 'In place of the one that is used now.');
      at('token').focus();
    });
    at('token-keep').addEventListener('click', () => {
      this.asked = false;
      this.odd = false;
      passed();
    });
  }

  // One of 'token-form', 'name-form', 'panels', or nothing.
  show(what) {
    for (const id of ['token-form', 'name-form', 'panels']) show(at(id), id === what);
    show(at('token-change'), what !== 'token-form' && token() !== null);
    show(at('token-keep'), Boolean(this.asked));
  }

  askForToken() {
    this.asked = false;
    this.show('token-form');
    say(at('token-why'), this.odd ? ODD : token() ? `This token is not good. ${MADE}` : MADE);
  }
}
