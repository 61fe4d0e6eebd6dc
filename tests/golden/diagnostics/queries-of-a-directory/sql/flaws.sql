-- a comment
-- title: A
-- title: B
-- param: who
-- param: days intger = 7
-- param: least integer = many : how many
-- param: unused varchar = 'a b' : nobody uses it

SELECT $least, $whoo
