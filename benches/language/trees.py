class Tree:
    def __init__(self, left=None, right=None):
        self.left, self.right = left, right

    def check(self):
        left = self.left
        return 1 if left is None else 1 + left.check() + self.right.check()


def tree(depth):
    return Tree() if depth == 0 else Tree(tree(depth - 1), tree(depth - 1))


def plant(depth, n):
    return sum(tree(depth).check() for _ in range(n))


long = tree(15)
print(plant(4, 32768) + plant(8, 2048) + plant(12, 128) + long.check())
