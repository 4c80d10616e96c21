class User < ApplicationRecord
  has_many :posts
  before_destroy :clean
  def clean
    CleanUp.call(self)
  end
end
