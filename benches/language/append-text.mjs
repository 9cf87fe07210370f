function append(n) {
  let text = '';
  for (let i = 1; i <= n; i++) text += 'hello';
  return text.length;
}
console.log(append(100000));
