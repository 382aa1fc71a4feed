// Controls of the served version, each with a confirmation.

class Controls {
  // `onDone` is called with the name of the problem and the served version.
  constructor(onDone) {
    this.onDone = onDone;
    this.dialog = byId('confirm');
    byId('confirm-no').addEventListener('click', () => this.dialog.close());
    byId('confirm-form').addEventListener('submit', event => {
      event.preventDefault();
      this.act();
    });
    byId('freeze').addEventListener('click', () =>
      this.confirm(this.serving.frozen ? 'unfreeze' : 'freeze'));
    byId('shadow-switch').addEventListener('click', () =>
      this.confirm(this.serving.shadow ? 'shadow_off' : 'shadow_on'));
  }

  show(name, serving) {
    [this.name, this.serving] = [name, serving];
    setText(byId('freeze'), serving.frozen ? 'Unfreeze …' : 'Freeze …');
    setText(byId('shadow-switch'), serving.shadow ? 'Shadow off …' : 'Shadow on …');
  }

  confirm(action, version) {
    const texts = confirmation(action, this.serving, version);
    this.pending = {name: this.name, ...texts};
    setText(byId('confirm-title'), texts.title);
    setText(byId('confirm-words'), texts.words);
    setText(byId('confirm-yes'), texts.yes);
    setVisible(byId('confirm-error'), false);
    byId('confirm-yes').disabled = false;
    this.dialog.showModal();
  }

  async act() {
    const {name, path, body} = this.pending;
    byId('confirm-yes').disabled = true;
    try {
      const serving = await request(problemPath(name, path), body);
      this.dialog.close();
      this.onDone(name, serving);
    } catch (error) {
      setText(byId('confirm-error'), error.message);
      setVisible(byId('confirm-error'), true);
    } finally {
      byId('confirm-yes').disabled = false;
    }
  }
}

function confirmation(action, serving, version) {
  const [now, newest] = [formatCount(serving.version), formatCount(serving.newest)];
  const texts = {
    freeze: {
      path: '/freeze', title: `Freeze at version ${now}?`, yes: 'Freeze',
      words: `Version ${now} is served until you unfreeze the problem. `
        + 'New versions are published, but not served.',
    },
    unfreeze: {
      path: '/unfreeze', title: 'Unfreeze?', yes: 'Unfreeze',
      words: serving.shadow
        ? 'Shadow mode is on: the version that was served when it was turned on is served again.'
        : `The newest version, at present ${newest}, is served again.`,
    },
    roll_back: {
      path: '/rollback', body: {version}, yes: version < serving.version ? 'Roll back' : 'Serve',
      title: `${version < serving.version ? 'Roll back to' : 'Serve'} version ${formatCount(version)}?`,
      words: `Version ${formatCount(version)} is served instead of ${now} until you unfreeze the problem. `
        + 'Open episodes keep their version.',
    },
    shadow_on: {
      path: '/shadow', title: 'Turn shadow mode on?', yes: 'Turn on', body: {on: true},
      words: `New versions are published, but version ${now} remains the served one.`,
    },
    shadow_off: {
      path: '/shadow', title: 'Turn shadow mode off?', yes: 'Turn off', body: {on: false},
      words: serving.frozen
        ? `The problem is frozen: version ${now} is served until you unfreeze it.`
        : `The newest version, at present ${newest}, is served again.`,
    },
  }[action];
  return {body: {}, ...texts};
}
