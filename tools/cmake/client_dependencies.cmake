# What the client library links beside what the library does, for the build and for the installed package alike.
find_package(OpenSSL REQUIRED)
