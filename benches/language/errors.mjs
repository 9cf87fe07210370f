class Checker {
  check(n) {
    if (n % 2 === 1) throw new Error('odd');
    return n;
  }
  run(n) {
    let handled = 0;
    for (let i = 1; i <= n; i++) {
      try { this.check(i * 2 - 1); } catch (e) { handled += e.message.length; }
    }
    return handled;
  }
}
console.log(new Checker().run(500000));
