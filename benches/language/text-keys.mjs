function count(n) {
  const d = new Map();
  for (let i = 1; i <= n; i++) d.set(`key${i % 100000}`, i);
  return d.size;
}
console.log(count(2000000));
