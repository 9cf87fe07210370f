function build(n) {
  let out = '';
  for (let i = 1; i <= n; i++) {
    out += 'item ';
    out += i;
  }
  return Buffer.byteLength(out);
}
console.log(build(1000000));
