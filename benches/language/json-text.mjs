const list = Array.from({ length: 90000 }, (_, at) => {
  const i = at + 1;
  return { id: i, title: `Item number ${i}`, price: i / 8, tags: ['new', 'red', 'large'], done: i % 2 === 0 };
});
let size = 0;
for (let i = 0; i < 4; i++) {
  const text = JSON.stringify(list);
  size += text.length + JSON.parse(text).length;
}
console.log(size);
