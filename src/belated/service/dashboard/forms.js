// Forms for a token, and for the name of a problem if the token may not list problems.

const TOKEN_HINT = 'Paste a token with the scope ‘read’. Create one with ‘belated token create --scope read’.';
const TOKEN_MALFORMED = 'Not a token: it contains invalid characters. '
  + 'Copy the whole token and nothing else.';

class AccessForms {
  constructor(onReady) {
    byId('token-form').addEventListener('submit', event => {
      event.preventDefault();
      this.malformed = !storeToken(byId('token').value.trim());
      byId('token').value = '';
      if (this.malformed) {
        setText(byId('token-why'), TOKEN_MALFORMED);
        return;
      }
      this.changing = false;
      onReady();
    });
    byId('name-form').addEventListener('submit', event => {
      event.preventDefault();
      location.hash = encodeURIComponent(byId('name').value.trim());
    });
    byId('token-change').addEventListener('click', () => {
      this.changing = true;
      this.malformed = false;
      this.show('token-form');
      setText(byId('token-why'), 'The new token replaces the current one.');
      byId('token').focus();
    });
    byId('token-keep').addEventListener('click', () => {
      this.changing = false;
      this.malformed = false;
      onReady();
    });
  }

  // Shows one of 'token-form', 'name-form' and 'panels', or none of them.
  show(visible) {
    for (const id of ['token-form', 'name-form', 'panels']) setVisible(byId(id), id === visible);
    setVisible(byId('token-change'), visible !== 'token-form' && getToken() !== null);
    setVisible(byId('token-keep'), Boolean(this.changing));
  }

  askForToken() {
    this.changing = false;
    this.show('token-form');
    const hint = getToken() ? `Invalid token. ${TOKEN_HINT}` : TOKEN_HINT;
    setText(byId('token-why'), this.malformed ? TOKEN_MALFORMED : hint);
  }
}
