# What the client library links, for the build and for the installed package alike.
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
