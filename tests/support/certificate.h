// support/certificate.h: a certificate that vouches for itself, and its key, in files. Needs OpenSSL::SSL.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace duelease::test {

struct Certificate {
  std::string certificate_file;
  std::string key_file;
};

namespace certificate_detail {

inline void must(bool good) {
  if (!good) throw std::runtime_error("OpenSSL refused to make a certificate");
}

template <class Write>
void write_pem(const std::string& path, const Write& write) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  must(file != nullptr);
  const bool written = write(file) == 1;
  must(std::fclose(file) == 0 && written);
}

}  // namespace certificate_detail

// For `names` as OpenSSL writes them, such as "DNS:localhost,IP:127.0.0.1". Good for an hour.
inline Certificate make_certificate(const std::filesystem::path& folder, const std::string& file,
                                    const std::string& names) {
  using certificate_detail::must;
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> x509(X509_new(), X509_free);
  must(key && x509);
  X509_set_version(x509.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x509.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(x509.get()), 3600);
  X509_set_pubkey(x509.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(x509.get());
  const auto* const common_name = reinterpret_cast<const unsigned char*>("a test");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0);
  X509_set_issuer_name(x509.get(), name);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> alternative(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str()), X509_EXTENSION_free);
  must(alternative && X509_add_ext(x509.get(), alternative.get(), -1) == 1);
  must(X509_sign(x509.get(), key.get(), EVP_sha256()) != 0);

  Certificate made{(folder / (file + ".pem")).string(), (folder / (file + ".key")).string()};
  certificate_detail::write_pem(made.certificate_file,
                                [&](std::FILE* out) { return PEM_write_X509(out, x509.get()); });
  certificate_detail::write_pem(made.key_file, [&](std::FILE* out) {
    return PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return made;
}

}  // namespace duelease::test
