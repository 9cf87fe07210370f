class Item {
  constructor(title) { this.title = title; }
}
function sort(n) {
  const list = [];
  const items = [];
  let seed = 42;
  for (let i = 0; i < n; i++) {
    seed = (seed * 16807) % 2147483647;
    list.push(seed);
    if (items.length < 200000) items.push(new Item(`item ${seed}`));
  }
  const falling = [...list].sort((a, b) => b - a);
  const titled = [...items].sort((a, b) => (a.title < b.title ? -1 : a.title > b.title ? 1 : 0));
  return `${falling[0]} ${falling[n - 1]} ${titled[0].title} ${titled[199999].title}`;
}
console.log(sort(300000));
