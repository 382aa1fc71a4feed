// What a person decides: asked for once more before it is done, and refused in words.

class Controls {
  // `done` is told what is served then.
  constructor(done) {
    this.done = done;
    this.dialog = at('confirm');
    at('confirm-no').addEventListener('click', () => this.dialog.close());
    at('confirm-form').addEventListener('submit', event => {
      event.preventDefault();
      this.act();
    });
    at('freeze').addEventListener('click', () =>
      this.confirm(this.serving.frozen ? 'unfreeze' : 'freeze'));
    at('shadow-switch').addEventListener('click', () =>
      this.confirm(this.serving.shadow ? 'shadow_off' : 'shadow_on'));
  }

  show(name, serving) {
    [this.name, this.serving] = [name, serving];
    say(at('freeze'), serving.frozen ? 'Unfreeze …' : 'Freeze …');
    say(at('shadow-switch'), serving.shadow ? 'Shadow off …' : 'Shadow on …');
  }

  confirm(action, version) {
    const asked = question(action, this.serving, version);
    this.wanted = {name: this.name, ...asked};
    say(at('confirm-title'), asked.title);
    say(at('confirm-words'), asked.words);
    say(at('confirm-yes'), asked.yes);
    show(at('confirm-refusal'), false);
    at('confirm-yes').disabled = false;
    this.dialog.showModal();
  }

  async act() {
    const {name, path, body} = this.wanted;
    at('confirm-yes').disabled = true;
    try {
      const serving = await ask(of(name, path), body);
      this.dialog.close();
      this.done(name, serving);
    } catch (error) {
      say(at('confirm-refusal'), error.message);
      show(at('confirm-refusal'), true);
    } finally {
      at('confirm-yes').disabled = false;
    }
  }
}

function question(action, serving, version) {
  const [now, newest] = [count(serving.version), count(serving.newest)];
  const asked = {
    freeze: {
      path: '/freeze', title: `Freeze at version ${now}?`, yes: 'Freeze',
      words: `Version ${now} is served until somebody unfreezes. `
        + 'Learning goes on, and new versions wait.',
    },
    unfreeze: {
      path: '/unfreeze', title: 'Unfreeze?', yes: 'Unfreeze',
      words: serving.shadow
        ? 'Shadow mode is on, so what was served when it went on is served again.'
        : `The newest version is served again, which is ${newest} now.`,
    },
    roll_back: {
      path: '/rollback', body: {version}, yes: version < serving.version ? 'Roll back' : 'Serve it',
      title: `${version < serving.version ? 'Roll back to' : 'Serve'} version ${count(version)}?`,
      words: `Version ${count(version)} is served in place of ${now}, until somebody unfreezes. `
        + 'Episodes that are open keep theirs.',
    },
    shadow_on: {
      path: '/shadow', title: 'Turn shadow mode on?', yes: 'Turn on', body: {on: true},
      words: `New versions are learned and published, but version ${now} stays the one that is served.`,
    },
    shadow_off: {
      path: '/shadow', title: 'Turn shadow mode off?', yes: 'Turn off', body: {on: false},
      words: serving.frozen
        ? `It is frozen, so version ${now} stays served until somebody unfreezes.`
        : `The newest version is served again, which is ${newest} now.`,
    },
  }[action];
  return {body: {}, ...asked};
}
