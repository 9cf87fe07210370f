function sort(n) {
  const list = [];
  let seed = 42;
  for (let i = 0; i < n; i++) {
    seed = (seed * 16807) % 2147483647;
    list.push(seed);
  }
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[0] + sorted[n - 1];
}
console.log(sort(1000000));
