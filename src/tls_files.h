// Gives certificates and keys that JavaScript passed as texts names that libpq can open, since it
// takes only names of files. On Linux they are memfds: files without a folder, which are gone with
// the process, however it ends. Elsewhere they are files in a private folder, which is there only
// while libpq is being called. Opened by Connection; held by all that may make libpq read them:
// Connector and, for cancel requests, Pipeline.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pg_conduit {

class TlsFiles {
 public:
  using Texts = std::vector<std::string>;

  // Null on failure; `message` says why.
  static std::shared_ptr<TlsFiles> Open(Texts texts, std::string* message);
  virtual ~TlsFiles() = default;
  TlsFiles(const TlsFiles&) = delete;
  TlsFiles& operator=(const TlsFiles&) = delete;

  const Texts& texts() const { return texts_; }
  // The same for as long as this object lives: libpq keeps them for its cancel requests.
  const std::vector<std::string>& names() const { return names_; }

  // While a Scope lives the names can be opened, unless !ok(). libpq may read them in any call that
  // goes on with a connection, and never later. `files` may be null. A Scope owns its files, too:
  // whoever opened it may be destroyed before it ends.
  class Scope {
   public:
    explicit Scope(std::shared_ptr<TlsFiles> files)
        : files_(std::move(files)), ok_(files_ == nullptr || files_->Present()) {}
    ~Scope() {
      if (files_ != nullptr) files_->Absent();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    bool ok() const { return ok_; }

   private:
    std::shared_ptr<TlsFiles> files_;
    bool ok_;
  };

 protected:
  explicit TlsFiles(Texts texts) : texts_(std::move(texts)) {}
  virtual bool Present() = 0;
  virtual void Absent() = 0;

  Texts texts_;
  std::vector<std::string> names_;
};

// The files that are open: connections with the same texts share them.
class TlsFilesRegistry {
 public:
  // Null on failure; `message` says why.
  std::shared_ptr<TlsFiles> Get(TlsFiles::Texts texts, std::string* message);

 private:
  std::vector<std::weak_ptr<TlsFiles>> open_;
};

// The error message when a Scope is not ok.
inline constexpr char kTlsFilesMissing[] =
    "the certificates and keys of the option \"ssl\" cannot be handed to libpq: it takes files "
    "only, and neither /proc/self/fd nor the folder for temporary files can be used";

}  // namespace pg_conduit
