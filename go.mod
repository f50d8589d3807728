module github.com/quern-dev/quern

go 1.25.0
