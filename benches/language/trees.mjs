class Tree {
  constructor(left, right) { this.left = left; this.right = right; }
  check() {
    const left = this.left;
    return left === undefined ? 1 : 1 + left.check() + this.right.check();
  }
}
const tree = (depth) => depth === 0 ? new Tree() : new Tree(tree(depth - 1), tree(depth - 1));
function plant(depth, n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += tree(depth).check();
  return sum;
}
const long = tree(15);
console.log(plant(4, 32768) + plant(8, 2048) + plant(12, 128) + long.check());
